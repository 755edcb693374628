import type { Fleet } from '../load/fleet.ts';
import { Fleets } from '../load/fleets.ts';
import { type LoadSample, storedSlice } from '../load/stored-slice.ts';
import type { MasterName, MasterUnderTest } from '../masters/master.ts';
import { namesOf, withMasters } from '../masters/start-masters.ts';
import { loadFigures } from './load-figures.ts';
import { alternate, type Row } from './row.ts';

const MINIONS = 500;
const IN_FLIGHT = 128;
/** Uncounted slices: the first warms up, the second measures the rate. */
const WARM_UP_RETURNS = 2_000;

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

/** A storm of so many returns to jobs published beforehand. */
async function returnsSlice(
  master: MasterUnderTest,
  fleet: Fleet,
  count: number,
): Promise<LoadSample> {
  return storedSlice(master, await fleet.returns(count, IN_FLIGHT));
}
