import { expect } from 'vitest';
import { runSeed } from './run.ts';

/** The pure layer runs seeds 1 to this; the deep layer goes on. */
export const PURE_SEEDS = 40;
/** The last seed of the deep layer. */
export const DEEP_SEEDS = 500;

/** Runs seeds one after the other; the first that breaks a rule fails the test with its trace. */
export async function expectToHold(first: number, count: number): Promise<void> {
  const digests = new Set<string>();
  let pages = 0;
  for (let seed = first; seed < first + count; seed += 1) {
    const outcome = await runSeed(seed);
    digests.add(outcome.digest);
    pages += outcome.trace.filter((line) => line.includes(' in a page: ')).length;
    const again = `BRINE_SIM_SEED=${seed} npm run simulation`;
    expect(outcome.broken, [...outcome.trace, again].join('\n')).toBeUndefined();
  }
  // Each seed is a run of its own.
  expect(digests.size).toBe(count);
  // Returns did share messages, so it is them that the faults met.
  expect(pages).toBeGreaterThan(count);
}
