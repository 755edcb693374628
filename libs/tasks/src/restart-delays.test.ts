import { expect, test } from 'vitest';
import { RestartDelays } from './restart-delays.ts';

test('the delays come in their order, and the last one repeats', () => {
  const delays = new RestartDelays([0, 200, 500], 30_000);
  expect([1, 2, 3, 4, 5].map(() => delays.next(10))).toEqual([0, 200, 500, 500, 500]);
});

test('the list is used up with its last delay', () => {
  const delays = new RestartDelays([0, 200], 30_000);
  expect(delays.isLast).toBe(false);
  delays.next(10);
  expect(delays.isLast).toBe(false);
  delays.next(10);
  expect(delays.isLast).toBe(true);
});

test('a program that ran for long begins with the first delay again', () => {
  const delays = new RestartDelays([0, 200, 500], 30_000);
  delays.next(10);
  delays.next(10);
  expect(delays.next(30_000)).toBe(0);
  expect(delays.next(29_999)).toBe(200);
});
