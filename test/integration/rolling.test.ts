// The small form of `npm run chaos -- --rolling 10 --minions 2000`, which is no part of the suite.
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const MINIONS = 20;

let dir = '';
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'brine-rolling-test-'));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

interface Seen {
  readonly rounds: readonly object[];
  readonly load: { readonly jobs: number };
  readonly logIns: { readonly during: number; readonly subscriptions: number };
  readonly failures: readonly string[];
  readonly ledger?: {
    readonly ok: boolean;
    readonly figures: { readonly jobs: number; readonly acknowledged: number };
  };
}

it('all services are replaced under load: no call fails, nothing is lost, nobody logs in', async () => {
  const json = join(dir, 'report.json');
  const tool = ['--conditions=source', '--import', 'tsx', 'tools/chaos/src/main.ts'];
  const asked = ['--rolling', '1', '--minions', `${MINIONS}`, '--jobs', '3', '--pause', '2'];
  const { code, said } = await run([...tool, ...asked, '--deadline', '15', '--json', json]);
  expect(code, said).toBe(0);
  const { rounds, load, logIns, failures, ledger } = JSON.parse(
    await readFile(json, 'utf8'),
  ) as Seen;
  expect(failures).toEqual([]);
  expect(rounds).toHaveLength(1);
  expect(ledger?.ok).toBe(true);
  // There was a load, and 4505 was really lost: without both there is nothing to see.
  expect(load.jobs).toBeGreaterThan(5);
  expect(ledger?.figures.acknowledged).toBeGreaterThan(5);
  expect(logIns).toMatchObject({ during: 0, subscriptions: MINIONS });
}, 300_000);

function run(args: readonly string[]): Promise<{ code: number; said: string }> {
  return new Promise((resolve) => {
    const options = { cwd: ROOT, maxBuffer: 16 * 1024 * 1024 };
    execFile(process.execPath, [...args], options, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 1;
      resolve({ code, said: `${stdout}${stderr}` });
    });
  });
}
