import type { MasterName, StockName } from '../masters/master.ts';
import { pairedRatios, type Spread, spreadOf } from '../measure/statistics.ts';

/** What one master reached in one row. */
export interface Cell {
  /** The median of the samples; undefined if nothing was measured, with the reason in `note`. */
  readonly value: number | undefined;
  readonly samples: readonly number[];
  /** A few words behind the number: `not reached`, `91 % answered`. */
  readonly note?: string;
  /** True where the load generator was busier than the master: the master could do more. */
  readonly rigBound?: boolean;
  /** Anything else that is worth keeping in the JSON, as CPU by service. */
  readonly detail?: Readonly<Record<string, unknown>>;
}

/** One line of the table. */
export interface Figure {
  /** The row of `--only`. */
  readonly row: string;
  readonly name: string;
  readonly unit: Unit;
  /** Which way is better. */
  readonly better: 'more' | 'less';
  readonly cells: Readonly<Partial<Record<MasterName, Cell>>>;
  /** How many times better Brine is, pair by pair. */
  readonly ratios: Readonly<Partial<Record<StockName, Spread>>>;
}

/** Units as the table writes them. */
export type Unit = '1/s' | 'ms' | 's' | 'µs' | 'KiB' | 'MiB' | '%' | 'count';

/** A cell from samples; the rest as given. */
export function cellOf(
  samples: readonly number[],
  more: Omit<Cell, 'value' | 'samples'> = {},
): Cell {
  return { value: spreadOf(samples)?.median, samples, ...more };
}

/** A cell without a number. */
export function emptyCell(note: string): Cell {
  return { value: undefined, samples: [], note };
}

/**
 * A line with its ratios: samples of the same index were measured one after the other, so they are
 * pairs. Above 1 Brine is better, also for cells in which less is better.
 */
export function figureOf(head: Omit<Figure, 'ratios'>): Figure {
  const brine = head.cells.brine?.samples ?? [];
  const ratios: Partial<Record<StockName, Spread>> = {};
  for (const [name, cell] of Object.entries(head.cells) as [MasterName, Cell][]) {
    if (name === 'brine') continue;
    const pairs =
      head.better === 'more'
        ? pairedRatios(brine, cell.samples)
        : pairedRatios(cell.samples, brine);
    const spread = spreadOf(pairs);
    if (spread !== undefined) ratios[name] = spread;
  }
  return { ...head, ratios };
}
