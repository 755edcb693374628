import type { SaltValue } from '@brine/wire';
import { expect, test } from 'vitest';
import { subsetOf } from './subset.ts';

const ABLE = ['test.ping', 'f'];
const FUNCTIONS: ReadonlyMap<string, SaltValue> = new Map<string, SaltValue>([
  ['one', ABLE],
  ['two', ABLE],
  ['three', ['test.ping']],
  ['silent', false],
]);

function sizes(fun: string | readonly string[], size: number): ReadonlySet<number> {
  const found = Array.from({ length: 200 }, () => subsetOf(FUNCTIONS, fun, size));
  for (const ids of found) for (const id of ids) expect(['one', 'two', 'three']).toContain(id);
  return new Set(found.map((ids) => ids.length));
}

test.each([
  ['test.ping', 2, [2]],
  ['test.ping', 9, [3]],
  ['f', 1, [1]],
  ['f', 3, [2]],
  ['nope', 1, [0]],
  [['test.ping'], 1, [0]],
  // Only the first that is looked at, and it may not have the function.
  ['test.ping', -1, [1]],
  ['f', -5, [0, 1]],
])('of %s, %i has %j minions', (fun, size, counts) => {
  expect([...sizes(fun, size)].sort()).toEqual(counts);
});

test('each minion has its chance', () => {
  const chosen = Array.from({ length: 200 }, () => subsetOf(FUNCTIONS, 'f', 1)[0]);
  expect(new Set(chosen)).toEqual(new Set(['one', 'two']));
});
