import { setTimeout as sleep } from 'node:timers/promises';
import type { LoadResult } from '@brine/swarm';
import type { MasterUnderTest } from '../masters/master.ts';
import { measured, type Slice } from '../measure/slice.ts';
import type { ReturnStorm } from './fleet.ts';

const STORED_POLL_MS = 25;
/** Longer than a message that was not taken the first time waits to come again. */
const STORED_WAIT_MS = 90_000;

/** A slice of load as two lines of the table need it. */
export interface LoadSample extends Slice<LoadResult> {
  /** Operations per second by the measure of the row, as rows in the store. */
  readonly perSecond: number;
}

/**
 * Runs a storm of returns. The rate counts what is in the store, until all of it is there; the CPU
 * time until the master is at rest again.
 * @throws Error where an acknowledged return does not reach the store.
 */
export async function storedSlice(
  master: MasterUnderTest,
  { jids, storm }: ReturnStorm,
): Promise<LoadSample> {
  let seconds = 0;
  let stored = 0;
  const slice = await measured(master.tree, async () => {
    const startedAt = performance.now();
    const result = await storm();
    const until = performance.now() + STORED_WAIT_MS;
    for (;;) {
      stored = await master.countReturns(jids);
      if (stored >= result.answered) break;
      if (performance.now() > until) {
        const { answered, resent } = result;
        throw new Error(
          `${master.name}: ${answered} acknowledged, ${stored} stored (${resent} re-sends)`,
        );
      }
      await sleep(STORED_POLL_MS);
    }
    seconds = (performance.now() - startedAt) / 1_000;
    return result;
  });
  return { ...slice, perSecond: stored / seconds };
}
