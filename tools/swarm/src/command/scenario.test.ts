import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readScenario } from './scenario.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'brine-scenario-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

async function scenario(text: string): Promise<unknown> {
  const path = join(dir, 'scenario');
  await writeFile(path, text);
  return readScenario(path);
}

it('a scenario is a list of behaviours, or has one, in YAML or JSON', async () => {
  const expected = [{ share: 0.1, answer: 'never' }, { delayMs: [1, 2] }];
  const yaml = 'behaviours:\n  - {share: 0.1, answer: never}\n  - delayMs: [1, 2]\n';
  expect(await scenario(yaml)).toEqual(expected);
  expect(await scenario(JSON.stringify(expected))).toEqual(expected);
});

it('an error names the file and says what is wrong', async () => {
  await expect(scenario('- {share: 3}')).rejects.toThrow(/scenario .*: behaviour 1: share is/);
  await expect(scenario('behaviours: 7')).rejects.toThrow(/behaviours are a list/);
  await expect(readScenario(join(dir, 'none'))).rejects.toThrow(/none: ENOENT/);
});
