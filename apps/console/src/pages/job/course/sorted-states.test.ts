import { expect, test } from 'vitest';
import { sortedStates } from './sorted-states.ts';

const state = (id: string, slowestMs: number) => ({
  id,
  ok: 1,
  changed: 0,
  failed: 0,
  would: 0,
  slowestMs,
  slowest: 'web1',
});
const STATES = [state('b', 2), state('a', 10), state('c', 1)];
const ids = (sort?: string) => sortedStates(STATES, sort).map(({ id }) => id);

test('states are sorted by a field, upwards or downwards', () => {
  expect(ids('id')).toEqual(['a', 'b', 'c']);
  expect(ids('-slowestMs')).toEqual(['a', 'b', 'c']);
  expect(ids('slowestMs')).toEqual(['c', 'b', 'a']);
});

test('a strange order is that of the server', () => {
  expect(ids('__proto__')).toEqual(['b', 'a', 'c']);
  expect(ids()).toEqual(['b', 'a', 'c']);
});
