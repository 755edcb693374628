import { expect, test } from 'vitest';
import { chartBars, chartSentence } from './bars.ts';

const BOX = { width: 100, height: 40 };

test('the largest value fills the box, and what is not zero is seen', () => {
  const bars = chartBars([0, 1, 10_000], BOX);
  expect(bars).toHaveLength(2);
  expect(bars[0]).toMatchObject({ height: 2, y: 38 });
  expect(bars[1]).toMatchObject({ height: 40, y: 0 });
  const last = bars[1];
  expect((last?.x ?? 0) + (last?.width ?? 0)).toBeLessThanOrEqual(BOX.width);
});

test('no values, and no counts, are no bars', () => {
  expect(chartBars([], BOX)).toEqual([]);
  expect(chartBars([0, 0], BOX)).toEqual([]);
});

test('a chart is a sentence for those who do not see it', () => {
  expect(chartSentence([1, 2_000, 3], 'Jobs', 'minute')).toBe(
    'Jobs in each of the last 3 minutes: now 3, at most 2,000',
  );
});
