import { expect, test } from 'vitest';
import { steady } from './rate-limit.ts';

test('bytes go no faster than the speed, however they come', async () => {
  let now = 0;
  let total = 0;
  const clock = { now: () => now, wait: (ms: number) => Promise.resolve((now += ms)) };
  const write = (bytes: Uint8Array): Promise<void> => {
    total += bytes.length;
    return Promise.resolve();
  };
  const slow = steady(1_000_000, write, clock);
  for (let i = 0; i < 100; i += 1) await slow(new Uint8Array(i % 7 === 0 ? 100_000 : 1_000));
  expect(total / now).toBeGreaterThan(950);
  expect(total / now).toBeLessThan(1_050);
});

test('a pause is not made up for', async () => {
  let now = 0;
  const clock = { now: () => now, wait: (ms: number) => Promise.resolve((now += ms)) };
  const slow = steady(1_000, () => Promise.resolve(), clock);
  await slow(new Uint8Array(1_000));
  now += 60_000;
  const before = now;
  await slow(new Uint8Array(1_000));
  expect(now - before).toBeGreaterThan(900);
});
