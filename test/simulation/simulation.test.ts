import { expect, test } from 'vitest';
import { runSeed } from './run.ts';
import { expectToHold, PURE_SEEDS } from './seeds.ts';

test('the same seed gives the same run, whatever ran before', { timeout: 120_000 }, async () => {
  const first = await runSeed(7);
  await runSeed(8);
  const again = await runSeed(7);
  expect(again.trace).toEqual(first.trace);
  expect(again.digest).toBe(first.digest);
});

test(`no rule is broken in seeds 1 to ${PURE_SEEDS}`, { timeout: 120_000 }, () =>
  expectToHold(1, PURE_SEEDS),
);
