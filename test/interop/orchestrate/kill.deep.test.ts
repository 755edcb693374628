import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BrineMaster } from '@brine/testing';
import { until } from '@brine/testing/waits';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { MINIONS } from './orchestrations.ts';
import { startOrchestrated } from './run-brine.ts';

/*
 * An orchestration with an orchestration within it goes on when its worker is killed, and each step
 * is done once: each writes a line to a file of its minion.
 */

/** A result of a step. */
interface Step {
  readonly __id__: string;
  readonly result: boolean;
  readonly comment: string;
  readonly changes: { readonly ret?: unknown };
}

/** Steps of the orchestration; those from 6 on are of the inner one. */
const STEPS = 10;
/** After a kill another worker takes over within this, ms. */
const TAKEN_MS = 60_000;

let master: BrineMaster;

beforeAll(async () => {
  master = await startOrchestrated({ runners: 2 });
}, 900_000);
afterAll(() => master?.close());

async function lines(file: string): Promise<string[]> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return text.split('\n').filter((line) => line !== '');
}

async function killWorkers(): Promise<void> {
  const services = await master.services();
  for (const { name, pid } of services) {
    if (name.startsWith('runner-pool') && pid !== undefined) process.kill(pid, 'SIGKILL');
  }
}

/** Runs an orchestration, and kills its workers after so many lines in its file. */
async function killedAfter(count: number, mods: string) {
  const file = join(master.sandbox.dir, `${mods}-${count}`);
  const args = ['--out', 'json', 'state.orchestrate', mods, `pillar={"file": "${file}"}`];
  const running = master.brine('run', args, 240_000);
  await until(`${count} lines are written`, async () => (await lines(file)).length >= count, {
    withinMs: TAKEN_MS,
  });
  await killWorkers();
  return { ...(await running), lines: await lines(file) };
}

it.each([
  ['in the outer one', 2],
  ['in the inner one', 7],
])(
  'killed %s, it ends with every step done once',
  async (_name, after) => {
    const ended = await killedAfter(after, 'long.steps');
    expect(ended.lines.map(Number)).toEqual(Array.from({ length: STEPS }, (_value, at) => at));
    expect(ended.code, ended.stdout).toBe(0);
  },
  300_000,
);

it('killed in a step with a batch, it ends well, and each minion has run once', async () => {
  const ended = await killedAfter(1, 'long.batched');
  expect(ended.code, ended.stdout).toBe(0);
  expect([...ended.lines.slice(0, 2)].sort()).toEqual([...MINIONS]);
  expect(ended.lines.slice(2)).toEqual(['after']);
  const shown = JSON.parse(ended.stdout) as { data: Record<string, Record<string, Step>> };
  const [states = {}] = Object.values(shown.data);
  const batched = Object.values(states).find((state) => state.__id__ === 'batched');
  expect(batched?.result).toBe(true);
  expect(batched?.comment).toMatch(/^Function ran successfully\. Function cmd\.run ran on /);
  expect(batched?.changes.ret).toEqual({ one: '', two: '' });
}, 300_000);
