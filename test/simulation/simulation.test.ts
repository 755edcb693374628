import { expect, test } from 'vitest';
import { runSeed } from './run.ts';
import { expectToHold } from './seeds.ts';

test('the same seed gives the same run, whatever ran before', { timeout: 120_000 }, async () => {
  const first = await runSeed(7);
  await runSeed(8);
  const again = await runSeed(7);
  expect(again.trace).toEqual(first.trace);
  expect(again.digest).toBe(first.digest);
});

// Up to 500 in the deep layer.
test('no rule is broken in seeds 1 to 40', { timeout: 120_000 }, () => expectToHold(1, 40));
