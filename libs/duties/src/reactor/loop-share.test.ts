import { expect, test } from 'vitest';
import { EventLoopLoad } from './loop-share.ts';

test('a loop that works most of its time is busy until it has time again', () => {
  const shares = [0.2, 0.9, 0.76, 0.75];
  let now = 0;
  const share = new EventLoopLoad(
    () => shares.shift() ?? 0,
    () => now,
  );
  const seen = [50, 100, 150, 200, 300, 400, 500].map((at) => {
    now = at;
    return share.isBusy;
  });
  // It is looked at every tenth of a second, and known in between.
  expect(seen).toEqual([false, false, false, true, true, false, false]);
  expect(shares).toEqual([]);
});

test('the share of this process can be read', () => {
  let now = 0;
  const share = new EventLoopLoad(undefined, () => (now += 1_000));
  expect(typeof share.isBusy).toBe('boolean');
});
