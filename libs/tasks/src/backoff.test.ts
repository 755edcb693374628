import { expect, test } from 'vitest';
import { backoffMs } from './backoff.ts';

test('waits double from the first to the longest and stay there', () => {
  const range = { firstMs: 250, longestMs: 5_000 };
  const waits = [1, 2, 3, 4, 5, 6, 7].map((failures) => backoffMs(range, failures));
  expect(waits).toEqual([250, 500, 1_000, 2_000, 4_000, 5_000, 5_000]);
  expect(backoffMs(range, 100_000)).toBe(5_000);
});

test('nothing is waited for while nothing failed', () => {
  expect(backoffMs({ firstMs: 250, longestMs: 5_000 }, 0)).toBe(0);
});
