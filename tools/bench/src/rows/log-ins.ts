import { Fleets } from '../load/fleets.ts';
import { namesOf, withMasters } from '../masters/start-masters.ts';
import { measured } from '../measure/slice.ts';
import type { Figure } from '../report/figure.ts';
import { loadFigures } from './load-figures.ts';
import { alternate, type Row, type RowContext } from './row.ts';

const MINIONS = 256;
const IN_FLIGHT = 64;

/** Log-ins per second, and what one costs the whole master. */
export const LOG_IN_ROWS: readonly Row[] = ([2048, 4096] as const).map((keyBits) => ({
  name: `log-ins-${keyBits}`,
  about: `log-ins/s with RSA ${keyBits}, CPU of the whole master per log-in`,
  inTable: true,
  run: (context) => runLogIns(context, keyBits),
}));

function runLogIns(
  { installed, pairs, sliceSeconds, say }: RowContext,
  keyBits: 2048 | 4096,
): Promise<readonly Figure[]> {
  const options = { config: { keysize: keyBits } };
  const run = async (masters: Parameters<Parameters<typeof withMasters>[2]>[0]) => {
    await using fleets = await Fleets.start(masters, { minions: MINIONS, keyBits, say });
    const samples = await alternate(
      masters,
      pairs,
      async (master, round) => {
        say(`log-ins, RSA ${keyBits}: ${master.name}, ${round + 1} of ${pairs}`);
        const load = { inFlight: IN_FLIGHT, durationMs: sliceSeconds * 1_000 };
        const slice = await measured(master.tree, () => fleets.of(master).logIns(load));
        return { ...slice, perSecond: slice.result.perSecond };
      },
      { warmUp: true },
    );
    const rate = `log-ins/s, RSA ${keyBits}`;
    return loadFigures(
      `log-ins-${keyBits}`,
      { rate, cost: `CPU per ${rate.replace('s/s', '')}` },
      samples,
    );
  };
  return withMasters(installed, namesOf(installed), run, options);
}
