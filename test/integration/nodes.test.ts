// The small form of `npm run chaos -- --nodes 3 --minions 200`, which is no part of the suite.
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

let dir = '';
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'brine-nodes-test-'));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

interface Seen {
  readonly losses: readonly { readonly node: string; readonly recovery?: object }[];
  readonly failures: readonly string[];
  readonly ledger?: {
    readonly ok: boolean;
    readonly figures: { readonly jobs: number; readonly acknowledged: number };
  };
}

it('each server of NATS and the primary of PostgreSQL are lost under load: the ledger adds up', async () => {
  const json = join(dir, 'report.json');
  const tool = ['--conditions=source', '--import', 'tsx', 'tools/chaos/src/main.ts'];
  const asked = ['--nodes', '1', '--minions', '20', '--jobs', '2', '--away', '1', '--json', json];
  const { code, said } = await run([...tool, ...asked]);
  expect(code, said).toBe(0);
  const { losses, failures, ledger } = JSON.parse(await readFile(json, 'utf8')) as Seen;
  expect(failures).toEqual([]);
  expect(losses.map(({ node }) => node)).toEqual([
    'nats-0',
    'nats-1',
    'nats-2',
    'the primary of PostgreSQL',
  ]);
  expect(losses.every(({ recovery }) => recovery !== undefined)).toBe(true);
  expect(ledger?.ok).toBe(true);
  // There was a load: a check of nothing finds nothing.
  expect(ledger?.figures.jobs).toBeGreaterThan(10);
  expect(ledger?.figures.acknowledged).toBeGreaterThan(20);
}, 600_000);

function run(args: readonly string[]): Promise<{ readonly code: number; readonly said: string }> {
  return new Promise((resolve) => {
    const options = { cwd: ROOT, maxBuffer: 16 * 1024 * 1024 };
    execFile(process.execPath, [...args], options, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 1;
      resolve({ code, said: `${stdout}${stderr}` });
    });
  });
}
