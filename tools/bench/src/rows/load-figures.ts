import type { LoadResult } from '@brine/swarm';
import type { LoadSample } from '../load/stored-slice.ts';
import { microsEach, type Slice } from '../measure/slice.ts';
import { type Cell, cellOf, type Figure, figureOf } from '../report/figure.ts';
import type { Samples } from './row.ts';

/** Operations per second and CPU of the whole master per operation, as two lines. */
export function loadFigures(
  row: string,
  names: { readonly rate: string; readonly cost: string },
  samples: Samples<LoadSample>,
): readonly Figure[] {
  const rates: Record<string, Cell> = {};
  const costs: Record<string, Cell> = {};
  for (const [name, slices] of samples) {
    const results = slices.map(({ result }) => result);
    const lost = results.reduce((sum, one) => sum + one.refused + one.timedOut, 0);
    rates[name] = cellOf(
      slices.map(({ perSecond }) => perSecond),
      {
        rigBound: results.some(({ bottleneck }) => bottleneck !== undefined),
        ...(lost > 0 ? { note: `${lost} refused or lost` } : {}),
        detail: { results },
      },
    );
    const costed = slices.filter(({ result }) => result.answered > 0);
    costs[name] = cellOf(
      costed.map(({ cpuSeconds, result }) => (cpuSeconds * 1e6) / result.answered),
      { detail: { byService: meanByService(costed) } },
    );
  }
  return [
    figureOf({ row, name: names.rate, unit: '1/s', better: 'more', cells: rates }),
    figureOf({ row, name: names.cost, unit: 'µs', better: 'less', cells: costs }),
  ];
}

/** µs per operation of each service over all slices. */
function meanByService(slices: readonly Slice<LoadResult>[]): Readonly<Record<string, number>> {
  const seconds: Record<string, number> = {};
  let answered = 0;
  for (const { byService, result } of slices) {
    answered += result.answered;
    for (const [name, one] of Object.entries(byService)) seconds[name] = (seconds[name] ?? 0) + one;
  }
  return answered === 0 ? {} : microsEach(seconds, answered);
}
