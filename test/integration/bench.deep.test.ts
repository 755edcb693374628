import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const MINIONS = 50;

let dir = '';
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'brine-bench-'));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

interface Seen {
  readonly commit: string;
  readonly machine: { readonly cores: number };
  readonly failures: readonly unknown[];
  readonly figures: readonly {
    readonly name: string;
    readonly cells: { readonly brine: { readonly value: number; readonly samples: number[] } };
  }[];
}

it('the benchmark measures a master, and all minions answer', async () => {
  const json = join(dir, 'report.json');
  const bench = ['--import', 'tsx', 'tools/bench/src/main.ts'];
  const asked = [
    '--brine-only',
    '--only',
    'fleet-100',
    '--minions',
    String(MINIONS),
    '--json',
    json,
  ];
  const args = ['--conditions=source', ...bench, ...asked];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: ROOT });
  const seen = JSON.parse(await readFile(json, 'utf8')) as Seen;

  expect(seen.failures).toEqual([]);
  expect(seen.commit).toMatch(/^[0-9a-f]{12}$/);
  expect(seen.machine.cores).toBeGreaterThan(0);
  const complete = seen.figures.find(({ name }) => name === `test.ping of ${MINIONS}: complete`);
  expect(complete?.cells.brine.samples.length).toBeGreaterThanOrEqual(5);
  expect(complete?.cells.brine.value).toBe(100);
  for (const { name, cells } of seen.figures) {
    expect(stdout).toContain(`| ${name}`);
    expect(cells.brine.samples.length, name).toBeGreaterThan(0);
  }
}, 300_000);
