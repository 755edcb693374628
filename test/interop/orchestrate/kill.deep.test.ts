import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BrineMaster } from '@brine/testing';
import { until } from '@brine/testing/waits';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startOrchestrated } from './run-brine.ts';

/*
 * An orchestration with an orchestration within it goes on when its worker is killed, and each step
 * is done once: each writes a line to a file of its minion.
 */

/** Steps of the orchestration; those from 6 on are of the inner one. */
const STEPS = 10;
/** After a kill another worker takes over within this, ms. */
const TAKEN_MS = 60_000;

let master: BrineMaster;

beforeAll(async () => {
  master = await startOrchestrated({ workers: 2 });
}, 900_000);
afterAll(() => master?.close());

async function lines(file: string): Promise<string[]> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return text.split('\n').filter((line) => line !== '');
}

async function killWorkers(): Promise<void> {
  const services = await master.services();
  for (const { name, pid } of services) {
    if (name.startsWith('worker-pool') && pid !== undefined) process.kill(pid, 'SIGKILL');
  }
}

it.each([
  ['in the outer one', 2],
  ['in the inner one', 7],
])(
  'killed %s, it ends with every step done once',
  async (_name, after) => {
    const file = join(master.sandbox.dir, `steps-${after}`);
    const pillar = `pillar={"file": "${file}"}`;
    const args = ['--out', 'json', 'state.orchestrate', 'long.steps', pillar];
    const running = master.brine('run', args, 240_000);
    await until(`${after} steps are done`, async () => (await lines(file)).length >= after, {
      withinMs: TAKEN_MS,
    });
    await killWorkers();
    const { code, stdout } = await running;
    const numbers = (await lines(file)).map(Number);
    expect(numbers).toEqual(Array.from({ length: STEPS }, (_value, at) => at));
    expect(code, stdout).toBe(0);
  },
  300_000,
);
