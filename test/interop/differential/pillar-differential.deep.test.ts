import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { saltVenv } from '@brine/testing';
import { expect, test } from 'vitest';

/** What a recorder below test/fixtures says, and what it said. */
async function bothOf(
  name: string,
): Promise<{ readonly now: unknown; readonly recorded: unknown }> {
  const dir = new URL(`../../fixtures/${name}/`, import.meta.url);
  const venv = await saltVenv('3008.2');
  const running = promisify(execFile)(venv.python, [new URL('record.py', dir).pathname], {
    env: { ...process.env, TZ: 'UTC' },
    maxBuffer: 16 * 1024 * 1024,
  });
  running.child.stdin?.end(readFileSync(new URL('trees.json', dir)));
  const { stdout } = await running;
  const recorded: unknown = JSON.parse(readFileSync(new URL('results.json', dir), 'utf8'));
  return { now: JSON.parse(stdout), recorded };
}

// The unit tests of libs/pillar hold Brine against the same records.
test('Salt 3008.2 still compiles the pillar trees as recorded', async () => {
  const { now, recorded } = await bothOf('pillar');
  expect(now).toEqual(recorded);
}, 900_000);

test('Salt 3008.2 still reads the saltclass trees as recorded', async () => {
  const { now, recorded } = await bothOf('saltclass');
  expect(now).toEqual(recorded);
}, 300_000);
