import { Releasers } from '@brine/service';
import {
  costRatios,
  loadTogether,
  microsPerReturn,
  openSide,
  RETURNS_PER_SLICE,
  warmUp,
} from '../load/side-by-side.ts';
import { microsEach } from '../measure/slice.ts';
import { estimateRatio, spreadOf } from '../measure/statistics.ts';
import { cellOf, figureOf } from '../report/figure.ts';
import type { Row } from './row.ts';

/** Of four workers each gets a quarter: until the code of all is compiled. */
const WARM_UP_SLICES = (4 * 10_000) / RETURNS_PER_SLICE;

/** Fewer pairs have no interval worth the name. */
const PAIRS_LEAST = 12;

/** Two ways to set up Brine, compared by what a return costs. */
interface Compared {
  readonly row: string;
  readonly about: string;
  /** Line of the table. */
  readonly name: string;
  readonly before: Config;
  readonly after: Config;
  /** On both sides; by default few, so that the cores are never full. */
  readonly inFlight?: number;
}

interface Config {
  readonly name: string;
  readonly brine: Readonly<Record<string, unknown>>;
}

/** What the traces cost that are on by default. */
export const TRACING_ROW = compared({
  row: 'tracing',
  about: 'CPU per return with traces as by default, beside a master without',
  name: 'traces as by default: CPU per return',
  before: { name: 'none', brine: { trace: 'off' } },
  after: { name: 'default', brine: {} },
});

/** As many as keep four workers busy. */
const FULL = 256;

/** Whether more workers make a return dearer: with little to do, and saturated. */
export const WORKERS_ROWS = [2, 4].flatMap((workers) => [
  workersRow(workers, { row: `workers-${workers}`, load: '' }),
  workersRow(workers, { row: `workers-${workers}-full`, load: ', full', inFlight: FULL }),
]);

function workersRow(
  workers: number,
  { row, load, ...how }: { row: string; load: string; inFlight?: number },
): Row {
  return compared({
    row,
    about: `CPU per return with ${workers} workers${load}, beside a master with one`,
    name: `${workers} workers instead of one${load}: CPU per return`,
    before: { name: 'one worker', brine: { workers: 1 } },
    after: { name: `${workers} workers`, brine: { workers } },
    ...how,
  });
}

function compared({ row, about, name, before, after, ...how }: Compared): Row {
  return {
    name: row,
    about,
    inTable: true,
    run: async ({ installed, pairs, say }) => {
      await using releasers = new Releasers();
      const open = ({ name: side, brine }: Config) =>
        openSide(releasers, side, installed.checkout, { config: { brine }, ...how }, say);
      const first = await open(before);
      const second = await open(after);
      await warmUp(first, say, WARM_UP_SLICES);
      await warmUp(second, say, WARM_UP_SLICES);
      const samples = await loadTogether(first, second, Math.max(pairs, PAIRS_LEAST), say);
      const { ratio, low, high } = estimateRatio(costRatios(samples));
      const plain = spreadOf(samples.before.map(microsPerReturn))?.median ?? Number.NaN;
      const byService = [samples.before, samples.after].map((side) =>
        side.map((one) => microsEach(one.byService, one.result.answered)),
      );
      const note =
        `${ratio.toFixed(2)} times the ${plain.toFixed(0)} of ${before.name}, ` +
        `95 %: ${low.toFixed(2)}–${high.toFixed(2)}`;
      const brine = cellOf(samples.after.map(microsPerReturn), { note, detail: { byService } });
      return [figureOf({ row, name, unit: 'µs', better: 'less', cells: { brine } })];
    },
  };
}
