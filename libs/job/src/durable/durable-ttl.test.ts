import { expect, test } from 'vitest';
import { durableTtl } from './durable-ttl.ts';

test('a time to live is a number of seconds or a text with a unit, and has a bound', () => {
  const good = [90, '90', '90s', '15m', '1.5h', '2d', '30d'].map(durableTtl);
  expect(good).toEqual([90, 90, 90, 900, 5400, 172_800, 2_592_000]);
  for (const bad of [0, -1, '31d', 'soon', '', '5 weeks', null, true, Number.NaN]) {
    expect(durableTtl(bad)).toBeUndefined();
  }
});
