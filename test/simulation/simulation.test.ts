import { expect, test } from 'vitest';
import { runSeed } from './run.ts';

/** Seeds of this file; `seeds-*.test.ts` beside it run at the same time. */
const SEEDS = 100;

test('the same seed gives the same run, whatever ran before', async () => {
  const first = await runSeed(7);
  await runSeed(8);
  const again = await runSeed(7);
  expect(again.trace).toEqual(first.trace);
  expect(again.digest).toBe(first.digest);
});

test(`${SEEDS} seeds break no rule`, { timeout: 600_000 }, async () => {
  const digests = new Set<string>();
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const outcome = await runSeed(seed);
    digests.add(outcome.digest);
    const told = [...outcome.trace, `BRINE_SIM_SEED=${seed} npm run simulation`].join('\n');
    expect(outcome.broken, told).toBeUndefined();
  }
  expect(digests.size).toBe(SEEDS);
});
