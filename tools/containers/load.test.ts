import { expect, test } from 'vitest';
import { callsIn, failuresAmong } from './load.ts';

test('a call counts as failed by its code, or by a minion that did not say true', () => {
  const calls = callsIn(
    [
      '#call 0 1000 {    "a": true,    "b": true} ',
      '#call 0 2000 {    "a": true} ',
      '#call 2 3000  [ERROR] no master ',
      '',
    ].join('\n'),
  );
  expect(calls.map(({ code, endedAt }) => [code, endedAt])).toEqual([
    [0, 1000],
    [0, 2000],
    [2, 3000],
  ]);
  expect(failuresAmong(calls, ['a', 'b'])).toEqual(calls.slice(1));
});

test('what no loop writes is an error, not a call', () => {
  expect(() => callsIn('Killed')).toThrow('not a line of a load: Killed');
});
