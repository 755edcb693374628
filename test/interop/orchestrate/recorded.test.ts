import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pythonJson } from '@brine/client';
import { bindArguments, RUNNERS } from '@brine/runners';
import { mapOf } from '@brine/wire';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { OrchestrationWorld, type Plain } from '../../../libs/runners/test/orchestration-world.ts';
import { DIFFERENCES } from './differences.ts';
import { FIXTURES, orchestrations, outcomeOf, recorded } from './orchestrations.ts';

/*
 * The orchestrations that need no minion, no Jinja and no time: the compiler makes of them what a
 * stock master made of them.
 */

const STOCK = recorded();
/** They wait, or tell what only a running master has. */
const NOT_HERE = /retry|jinja|yaml|include-|state-|show-|\{\{|\{%|fun:|salt\./;

const files: Record<string, Plain> = {};
for (const name of ['inc.pair', ...orchestrations().map((one) => one.name)]) {
  const path = join(FIXTURES, 'salt', `${name.replaceAll('.', '/')}.sls`);
  const text = readText(path);
  if (text !== undefined && !NOT_HERE.test(`${name}\n${text}`)) {
    files[name] = parse(text) as Plain;
  }
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

const CASES = orchestrations().filter(
  ({ name, args }) => name in files && args.length === 2 && !(name in DIFFERENCES),
);

it('there are many of them', () => {
  expect(CASES.length).toBeGreaterThan(40);
});

it.each(CASES)('$name', async ({ name }) => {
  const world = new OrchestrationWorld(files);
  world.pillar = mapOf({ colour: 'blue', deep: mapOf({ one: '1st' }) });
  const fun = RUNNERS.get('state.orchestrate');
  if (fun === undefined) throw new Error('no state.orchestrate');
  const given = bindArguments(fun, { args: [name], kwargs: mapOf({}) });
  const { value, retcode = 0 } = await fun.run(given, world.context());
  expect(outcomeOf(retcode, pythonJson(value, true), 'm_master')).toEqual(STOCK[name]);
});
