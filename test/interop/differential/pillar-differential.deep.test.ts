import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { newestOf, saltVenv } from '@brine/testing';
import { drawn } from '@brine/testing/circle';
import { expect, test } from 'vitest';

type Trees = Readonly<Record<string, unknown>>;

/** Trees that a change asks Salt for. */
const SOME = 60;

/** By the names of trees: what a recorder below test/fixtures says, and what it said. */
async function bothOf(
  name: string,
): Promise<{ readonly now: unknown; readonly recorded: unknown }> {
  const dir = new URL(`../../fixtures/${name}/`, import.meta.url);
  const venv = await saltVenv(newestOf('3008'));
  const running = promisify(execFile)(venv.python, [new URL('record.py', dir).pathname], {
    env: { ...process.env, TZ: 'UTC' },
    maxBuffer: 16 * 1024 * 1024,
  });
  const read = (file: string): Trees =>
    JSON.parse(readFileSync(new URL(file, dir), 'utf8')) as Trees;
  const { trees, ...rest } = read('trees.json') as { readonly trees: Trees };
  const recorded = read('results.json');
  // A tree that was never recorded is drawn too, and then missed.
  const names = new Set(drawn(`trees of ${name}`, Object.keys({ ...trees, ...recorded }), SOME));
  const some = (all: Trees): Trees =>
    Object.fromEntries(Object.entries(all).filter(([tree]) => names.has(tree)));
  running.child.stdin?.end(JSON.stringify({ ...rest, trees: some(trees) }));
  const { stdout } = await running;
  return { now: JSON.parse(stdout), recorded: some(recorded) };
}

// The unit tests of libs/pillar hold Brine against the same records.
test('Salt 3008 still compiles the pillar trees as recorded', async () => {
  const { now, recorded } = await bothOf('pillar');
  expect(now).toEqual(recorded);
}, 900_000);

test('Salt 3008 still reads the saltclass trees as recorded', async () => {
  const { now, recorded } = await bothOf('saltclass');
  expect(now).toEqual(recorded);
}, 300_000);
