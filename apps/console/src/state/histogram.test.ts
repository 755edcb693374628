import { expect, test } from 'vitest';
import { histogramOf, rangeOf } from './histogram.ts';

test('each time is counted once, the first and the last too', () => {
  expect(histogramOf([0, 1, 50, 99, 100], 4)).toEqual({
    fromMs: 0,
    toMs: 100,
    counts: [2, 0, 1, 2],
  });
});

test('times of any order, and more than fit an argument list, are counted', () => {
  const times = Array.from({ length: 200_000 }, (_, n) => (n * 7_919) % 200_000);
  const found = histogramOf(times, 60);
  expect(found?.counts.reduce((sum, count) => sum + count, 0)).toBe(200_000);
  expect([found?.fromMs, found?.toMs]).toEqual([0, 199_999]);
});

test('one moment is one part, and nothing has none', () => {
  expect(histogramOf([5, 5], 3)?.counts).toEqual([2, 0, 0]);
  expect(histogramOf([], 3)).toBeUndefined();
});

const HOUR = { fromMs: 0, toMs: 3_600_000 };

test.each([
  [0.25, 0.5, '1970-01-01T00:15:00.000Z', '1970-01-01T00:30:00.001Z'],
  [0.5, 0.25, '1970-01-01T00:15:00.000Z', '1970-01-01T00:30:00.001Z'],
  [-1, 2, '1970-01-01T00:00:00.000Z', '1970-01-01T01:00:00.001Z'],
])('from %d to %d is a time', (one, other, from, to) => {
  expect(rangeOf(HOUR, one, other)).toEqual({ from, to });
});
