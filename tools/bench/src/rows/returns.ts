import { setTimeout as sleep } from 'node:timers/promises';
import type { Fleet } from '../load/fleet.ts';
import { Fleets } from '../load/fleets.ts';
import type { MasterName, MasterUnderTest } from '../masters/master.ts';
import { namesOf, withMasters } from '../masters/start-masters.ts';
import { measured } from '../measure/slice.ts';
import { loadFigures, type LoadSample } from './load-figures.ts';
import { alternate, type Row } from './row.ts';

const MINIONS = 500;
const IN_FLIGHT = 128;
/** Uncounted slices: the first warms up, the second tells the rate. */
const WARM_UP_RETURNS = 2_000;
const STORED_POLL_MS = 25;
/** Longer than a message that was not taken the first time waits to come again. */
const STORED_WAIT_MS = 90_000;

/** Returns stored per second, and what one costs the whole master. */
export const RETURNS_ROW: Row = {
  name: 'returns',
  about: 'returns/s stored, CPU of the whole master per return',
  inTable: true,
  run: ({ installed, pairs, sliceSeconds, say }) =>
    withMasters(installed, namesOf(installed), async (masters) => {
      const behaviours = [{ share: 1, answer: 'never' }] as const;
      await using fleets = await Fleets.start(masters, { minions: MINIONS, behaviours, say });
      const counts = new Map<MasterName, number>();
      for (const master of masters) {
        await returnsSlice(master, fleets.of(master), WARM_UP_RETURNS);
        const warm = await returnsSlice(master, fleets.of(master), WARM_UP_RETURNS);
        const wanted = warm.perSecond * sliceSeconds;
        counts.set(master.name, MINIONS * Math.max(1, Math.round(wanted / MINIONS)));
      }
      const samples = await alternate(masters, pairs, async (master, round) => {
        say(`returns: ${master.name}, ${round + 1} of ${pairs}`);
        return returnsSlice(master, fleets.of(master), counts.get(master.name) ?? MINIONS);
      });
      const names = { rate: 'returns/s stored', cost: 'CPU per return' };
      return loadFigures('returns', names, samples);
    }),
};

/**
 * A storm of so many returns. The rate counts what is in the store, until all of it is there; the
 * CPU time until the master is at rest again.
 * @throws Error where an acknowledged return does not reach the store.
 */
export async function returnsSlice(
  master: MasterUnderTest,
  fleet: Fleet,
  count: number,
  inFlight = IN_FLIGHT,
): Promise<LoadSample> {
  const { jids, storm } = await fleet.returns(count, inFlight);
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
