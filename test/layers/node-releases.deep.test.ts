import { spawn } from 'node:child_process';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { NODE_RELEASES, nodeBinary } from '@brine/testing';
import { sized } from '@brine/testing/circle';
import { expect, test } from 'vitest';

/*
 * Brine on the other lines of Node. What takes long without asking Node for much stays out: the
 * simulation, and the search for slow inputs, which is about time.
 */

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const VITEST = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs');
const SHOWN_CHARS = 20_000;
const LIMIT_MS = 1_200_000;

const own = Number(process.versions.node.split('.', 1)[0]);
const others = NODE_RELEASES.filter((release) => Number(release.split('.', 1)[0]) !== own);

/** Runs tests by that Node, and all that they start. Gives how many passed. */
async function passedBy(
  release: (typeof NODE_RELEASES)[number],
  args: readonly string[],
): Promise<number> {
  const bin = await nodeBinary(release);
  const { VITEST: _, VITEST_WORKER_ID: __, VITEST_POOL_ID: ___, ...usual } = process.env;
  const PATH = `${bin}${delimiter}${process.env['PATH'] ?? ''}`;
  const env = { ...usual, PATH, NO_COLOR: '1', BRINE_TEST_WORKERS: '1' };
  const child = spawn(join(bin, 'node'), [VITEST, 'run', ...args], { cwd: ROOT, env });
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

// What computes alike by the oldest and the newest does so by those between them.
const [newest = NODE_RELEASES[0]] = others.slice(-1);
/** The newest of them for each change that reaches this; all of them at night. */
const tried = sized({ change: others.slice(-1), release: others.slice(-1), nightly: others });

test.each(sized({ change: [], release: [newest] }))(
  'Node %s passes the pure tests of libraries and apps',
  async (release) => {
    const patient = ['--testTimeout=120000'];
    const passed = await passedBy(release, ['--project', 'pure', 'libs/', 'apps/', ...patient]);
    expect(passed).toBeGreaterThan(4_000);
  },
  LIMIT_MS,
);

test.each(tried)(
  'Node %s runs a whole master with real minions',
  async (release) => {
    const light = 'test/integration/first-light.masters.test.ts';
    expect(await passedBy(release, ['--project', 'masters', light])).toBeGreaterThan(3);
  },
  LIMIT_MS,
);

test(
  'Node 24 runs engines, one in TypeScript among them',
  async () => {
    const engines = 'test/integration/engines.masters.test.ts';
    expect(await passedBy('24.21.0', ['--project', 'masters', engines])).toBeGreaterThan(5);
  },
  LIMIT_MS,
);
