// The small form of `npm run chaos -- --tree 1000`, which is no part of the suite.
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Those that every plan begins with: relay, master above, each way of the link. */
const FAULTS = 8;
const JOBS = 40;

let dir = '';
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'brine-tree-test-'));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

interface Books {
  readonly ok: boolean;
  readonly figures: { readonly jobs: number; readonly acknowledged: number };
}

interface Seen {
  readonly above: {
    readonly faults: readonly { readonly what: string }[];
    readonly failures: readonly string[];
    readonly ledger?: Books;
  };
  readonly below: Books;
  readonly both: {
    readonly jobs: number;
    readonly above: number;
    readonly below: number;
    readonly differences: readonly string[];
  };
}

it('two relays, a master above and the link between fail: both ledgers tell the same, once', async () => {
  const json = join(dir, 'report.json');
  const tool = ['--conditions=source', '--import', 'tsx', 'tools/chaos/src/main.ts'];
  const asked = ['--tree', `${JOBS}`, '--faults', `${FAULTS}`, '--seed', '1'];
  const load = ['--minions', '20', '--rate', '1', '--json', json];
  const { code, said } = await run([...tool, ...asked, ...load]);
  expect(code, said).toBe(0);
  const { above, below, both } = JSON.parse(await readFile(json, 'utf8')) as Seen;
  expect(above.failures).toEqual([]);
  expect(above.faults).toHaveLength(FAULTS);
  expect(above.ledger?.ok).toBe(true);
  expect(below.ok).toBe(true);
  expect(both.differences).toEqual([]);
  expect(both.above).toBe(both.below);
  // There was a load: a check of nothing finds nothing.
  expect(both.jobs).toBeGreaterThan(JOBS / 2);
  expect(both.above).toBeGreaterThan(JOBS);
}, 900_000);

function run(args: readonly string[]): Promise<{ code: number; said: string }> {
  return new Promise((resolve) => {
    const options = { cwd: ROOT, maxBuffer: 16 * 1024 * 1024 };
    execFile(process.execPath, [...args], options, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 1;
      resolve({ code, said: `${stdout}${stderr}` });
    });
  });
}
