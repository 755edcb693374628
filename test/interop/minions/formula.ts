import { execFileSync } from 'node:child_process';
import { copyFile, cp, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import {
  type AnyMaster,
  askAll,
  brineMaster,
  type MasterSetup,
  startMinions,
  stockMaster,
  timeless,
} from './any-master.ts';

/*
 * A formula of the wild in test=True by a stock minion, through Brine and through a stock master:
 *
 *     npx tsx --conditions=source test/interop/minions/formula.ts <git URL> <formula> [sls ...]
 *
 * A directory will do for the URL. Its `pillar.example` is the pillar. Ends with 1 where states,
 * their ids or results differ.
 */

const [repository = '', formula = '', ...given] = process.argv.slice(2);
if (formula === '') throw new Error('usage: formula.ts <git URL or directory> <formula> [sls ...]');
const names = given.length > 0 ? given : [formula];
const MINIONS = new Map([['formula-3008.2', '3008.2' as const]]);
const checkout = await mkdtemp(join(tmpdir(), 'brine-formula-'));
execFileSync('git', ['clone', '--quiet', '--depth', '1', '--', repository, checkout]);

const setup: MasterSetup = {
  config: {},
  environments: ['base'],
  async writeRoots({ configDir }) {
    await cp(join(checkout, formula), join(configDir, 'files', formula), { recursive: true });
    for (const name of await readdir(checkout)) {
      if (/^_(modules|states|grains|utils)$/.test(name)) {
        await cp(join(checkout, name), join(configDir, 'files', name), { recursive: true });
      }
    }
    await mkdir(join(configDir, 'pillar/base'), { recursive: true });
    await copyFile(join(checkout, 'pillar.example'), join(configDir, 'pillar/base/example.sls'));
    const top = `base:\n  '*':\n    - example\n`;
    await writeFile(join(configDir, 'pillar/base/top.sls'), top);
  },
};

const print = (line: string): boolean => process.stdout.write(`${line}\n`);

async function done(starting: Promise<AnyMaster>): Promise<Record<string, unknown>> {
  const master = await starting;
  try {
    await startMinions(master, MINIONS);
    const results: Record<string, unknown> = { pillar: await askAll(master, ['pillar.items']) };
    for (const name of names) {
      results[`${name} low`] = await askAll(master, ['state.show_low_sls', name]);
      results[name] = await askAll(master, ['state.apply', name, 'test=True']);
    }
    return timeless(results, master.sandbox.dir) as Record<string, unknown>;
  } finally {
    await master.close();
  }
}

/** How many states there are and what they came to, or why there are none. */
function said(states: object): string {
  const values = Object.values(states) as unknown[];
  if (values.some((value) => typeof value !== 'object' || value === null)) {
    return JSON.stringify(values).slice(0, 400);
  }
  const results = values.flatMap((value) => ('result' in (value as object) ? [value] : []));
  const count = (wanted: unknown): number =>
    results.filter((state) => (state as { result: unknown }).result === wanted).length;
  const outcome = `${count(true)} true, ${count(null)} none, ${count(false)} false`;
  return `${values.length} entries${results.length > 0 ? ` (${outcome})` : ''}`;
}

try {
  const stock = await done(stockMaster(setup));
  const brine = await done(brineMaster(setup));
  for (const [name, answers] of Object.entries(stock)) {
    const same = isDeepStrictEqual(answers, brine[name]);
    const [states] = Object.values(answers as Record<string, object>);
    print(`${name}: ${said(states ?? {})}, ${same ? 'same' : 'DIFFERENT'}`);
    if (same) continue;
    process.exitCode = 1;
    print(JSON.stringify({ stock: answers, brine: brine[name] }, undefined, 1));
  }
} finally {
  await rm(checkout, { recursive: true, force: true });
}
