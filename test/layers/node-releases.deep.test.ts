import { spawn } from 'node:child_process';
import { setPriority } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { NODE_RELEASES, nodeBinary } from '@brine/testing';
import { describe, expect, test } from 'vitest';

/*
 * Brine on the other lines of Node. What takes long without asking Node for much stays out: the
 * simulation, and the search for slow inputs, which is about time.
 */

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const VITEST = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs');
const SHOWN_CHARS = 20_000;
const LIMIT_MS = 600_000;

const own = Number(process.versions.node.split('.', 1)[0]);
const others = NODE_RELEASES.filter((release) => Number(release.split('.', 1)[0]) !== own);

/** Beside masters that wait for each other: what only computes takes the time that is left. */
const LAST = 19;

/** Runs tests by that Node, and all that they start. Gives how many passed. */
async function passedBy(
  release: (typeof NODE_RELEASES)[number],
  args: readonly string[],
  priority = 0,
): Promise<number> {
  const bin = await nodeBinary(release);
  const { VITEST: _, VITEST_WORKER_ID: __, VITEST_POOL_ID: ___, ...usual } = process.env;
  const env = { ...usual, PATH: `${bin}${delimiter}${process.env['PATH'] ?? ''}`, NO_COLOR: '1' };
  const child = spawn(join(bin, 'node'), [VITEST, 'run', ...args], { cwd: ROOT, env });
  if (child.pid !== undefined) setPriority(child.pid, priority);
  let said = '';
  const take = (chunk: Buffer): void => {
    said = (said + chunk.toString('utf8')).slice(-SHOWN_CHARS);
  };
  child.stdout.on('data', take);
  child.stderr.on('data', take);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  const passed = /^\s*Tests\s+(\d+) passed \(\1\)$/m.exec(said)?.[1];
  expect([code, passed], said).toEqual([0, expect.any(String)]);
  return Number(passed);
}

describe.each(others)('Node %s', (release) => {
  test(
    'passes the pure tests of libraries and apps',
    async () => {
      const patient = ['--testTimeout=120000', '--maxWorkers=1'];
      const passed = await passedBy(
        release,
        ['--project', 'pure', 'libs/', 'apps/', ...patient],
        LAST,
      );
      expect(passed).toBeGreaterThan(4_000);
    },
    LIMIT_MS,
  );

  test(
    'runs a whole master with real minions',
    async () => {
      const light = 'test/integration/first-light.masters.test.ts';
      expect(await passedBy(release, ['--project', 'masters', light])).toBeGreaterThan(3);
    },
    LIMIT_MS,
  );
});
