import { drawn } from '@brine/testing/circle';
import { expect, test } from 'vitest';
import { World } from '../test/world.ts';

const SEEDS = drawn(
  'seeds of presence',
  Array.from({ length: 100 }, (_, at) => at + 1_001),
  20,
);

test('in hours of faults no minion is lost that is connected or comes back', () => {
  const wrong: string[] = [];
  const lostAfter: number[] = [];
  for (const seed of SEEDS) {
    const world = new World({ seed, seconds: 3_600, faultEverySeconds: 15, asks: true });
    const result = world.run();
    lostAfter.push(...result.lostAfter);
    for (const text of result.falseLost) wrong.push(`seed ${seed}: ${text}`);
  }
  lostAfter.sort((a, b) => a - b);
  const at = (share: number): number => lostAfter[Math.floor(lostAfter.length * share)] ?? 0;
  process.stdout.write(`lost: ${lostAfter.length}; after s: p50 ${at(0.5)}, p95 ${at(0.95)}\n`);
  expect(wrong).toEqual([]);
  expect(lostAfter.length).toBeGreaterThan(SEEDS.length);
}, 600_000);
