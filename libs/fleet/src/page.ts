import type { FleetIndex, FleetRow } from './fleet-index.ts';
import { idTest } from './id-test.ts';
import type { RowSight } from './row-sight.ts';
import { type Drift, DRIFTS, type FleetKey, type GrainColumn, KEYS } from './rows.ts';

/** What rows are ordered by; a grain by its name. The id decides between equal ones. */
export type FleetOrder =
  | 'id'
  | 'key'
  | 'present'
  | 'since'
  | 'seen'
  | 'stateRun'
  | 'testRun'
  | 'would'
  | { grain: string };

/** Which minions are wanted, in which order. Filters that are absent let all pass. */
export interface FleetQuery {
  /** A part of the id, or a glob for it. */
  readonly id?: string | undefined;
  readonly keys?: readonly FleetKey[] | undefined;
  readonly present?: boolean | undefined;
  /** Another key of its id was refused. */
  readonly hasDenied?: true | undefined;
  /** Each grain has one of these texts. */
  readonly grains?: readonly { readonly name: string; readonly texts: readonly string[] }[];
  readonly drifts?: readonly Drift[] | undefined;
  /** Not seen since then, unix seconds. */
  readonly silentSince?: number | undefined;
  readonly order?: FleetOrder;
  readonly isDown?: boolean;
  readonly limit: number;
  /** Rows that are left out before them; default none. */
  readonly first?: number;
  /** The last row of the page before. */
  readonly after?: FleetPlace | undefined;
  readonly withFacets?: boolean;
}

/** The place of a row in an order: its value there, and its id. */
export interface FleetPlace {
  readonly value: string | number;
  readonly id: string;
}

/** How many minions have which value, were its own filter not there. */
export interface FleetFacets {
  readonly key: Readonly<Record<FleetKey, number>>;
  readonly present: { readonly yes: number; readonly no: number };
  readonly drift: Readonly<Record<Drift, number>>;
  readonly grains: readonly {
    readonly name: string;
    /** The most frequent ones. */
    readonly values: readonly { readonly value: string; readonly count: number }[];
    /** How many more there are. */
    readonly others: number;
  }[];
}

/** A page of minions. */
export interface FleetPage {
  readonly rows: readonly FleetRow[];
  /** Minions that match, on all pages. */
  readonly total: number;
  /** The place of the last row if there are more after it. */
  readonly next: FleetPlace | undefined;
  readonly facets: FleetFacets | undefined;
}

/** Values of a grain in its facet. */
const VALUES_MAX = 50;
const ACCEPTED = 1;
const PRESENT = 2;

/** Bits of the filters that a row does not pass. */
const KEY_BIT = 1;
const PRESENT_BIT = 2;
const OTHER_BIT = 4;
const DRIFT_BIT = 8;
const FIRST_GRAIN_BIT = 16;

/** The minions that a reader sees and wants, in one pass over the fleet. */
export function pageOf(index: FleetIndex, sight: RowSight, query: FleetQuery): FleetPage {
  const { rows } = index;
  const order = rows.order();
  const filter = filterOf(index, sight, query);
  const sorting = sortingOf(index, sight, query);
  const counts = query.withFacets === true ? new FacetCounts(index) : undefined;
  const { first = 0, limit } = query;
  const best = new Best(first + limit + 1);
  const { length } = order;
  const isBackwards = query.isDown === true && sorting.isById;
  const after = query.after === undefined ? undefined : sorting.placeOf(query.after, order);
  let total = 0;
  for (let step = 0; step < length; step += 1) {
    const place = isBackwards ? length - 1 - step : step;
    const row = order[place] ?? 0;
    if (!sight.sees(row)) continue;
    const fails = filter(row);
    counts?.add(row, fails, sight);
    if (fails !== 0) continue;
    total += 1;
    const value = sorting.valueOf(row);
    const isBefore = after !== undefined && !isAfter(value, isBackwards ? -place : place, after);
    if (!isBefore) best.add(value, isBackwards ? -place : place, row);
  }
  const found = best.take();
  const shown = found.slice(first, first + limit);
  const last = shown.at(-1);
  return {
    rows: shown.map((row) => index.read(row, sight.partsOf(row))),
    total,
    next:
      found.length > first + shown.length && last !== undefined
        ? { value: sorting.shownValueOf(last), id: rows.ids[last] ?? '' }
        : undefined,
    facets: counts?.shown(),
  };
}

/** How many minions a reader sees, and their facets. */
export function facetsOf(
  index: FleetIndex,
  sight: RowSight,
): { readonly total: number; readonly facets: FleetFacets } {
  const counts = new FacetCounts(index);
  let total = 0;
  for (const row of index.rows.order()) {
    if (!sight.sees(row)) continue;
    counts.add(row, 0, sight);
    total += 1;
  }
  return { total, facets: counts.shown() };
}

function isAfter(value: number, place: number, after: NumericPlace): boolean {
  return value > after.value || (value === after.value && place > after.place);
}

/** A place in an order, as numbers. */
interface NumericPlace {
  readonly value: number;
  readonly place: number;
}

interface Sorting {
  readonly isById: boolean;
  /** Smaller ones come first. */
  valueOf(row: number): number;
  /** As a cursor has it. */
  shownValueOf(row: number): string | number;
  placeOf(place: FleetPlace, order: Uint32Array): NumericPlace;
}

function sortingOf(index: FleetIndex, sight: RowSight, query: FleetQuery): Sorting {
  const { order = 'id', isDown = false } = query;
  const sign = isDown ? -1 : 1;
  const { columns, ids } = index.rows;
  const at = (id: string, rows: Uint32Array): number => placeOfId(ids, rows, id);
  if (order === 'id') {
    return {
      isById: true,
      valueOf: () => 0,
      shownValueOf: () => 0,
      placeOf: ({ id }, rows) => ({ value: 0, place: sign * at(id, rows) }),
    };
  }
  if (typeof order === 'object') {
    const column = columnOf(index, order.grain);
    const ranks = column.texts.ranks();
    const codeOf = (row: number): number => (sight.seesGrains(row) ? (column.codes[row] ?? 0) : 0);
    return {
      isById: false,
      valueOf: (row) => sign * (ranks[codeOf(row)] ?? -1),
      shownValueOf: (row) => column.texts.textOf(codeOf(row)),
      placeOf: ({ value, id }, rows) => ({
        value: sign * column.texts.rankOf(String(value)),
        place: at(id, rows),
      }),
    };
  }
  const numbers = {
    key: columns.key,
    present: columns.presence,
    since: columns.since,
    seen: columns.seenAt,
    stateRun: columns.runAt,
    testRun: columns.testAt,
    would: columns.testWould,
  }[order];
  // A row is not ordered by what it does not show.
  const isOfAccepted = order === 'since' || order === 'present';
  const isOfRuns = order === 'stateRun' || order === 'testRun' || order === 'would';
  const numberOf = (row: number): number => {
    if (isOfAccepted && columns.key[row] !== ACCEPTED) return -1;
    // As one that is not known.
    if (isOfRuns && !sight.seesRuns(row)) return 0;
    const number = numbers[row] ?? 0;
    return order === 'present' ? Number(number === PRESENT) : number;
  };
  return {
    isById: false,
    valueOf: (row) => sign * numberOf(row),
    shownValueOf: numberOf,
    placeOf: ({ value, id }, rows) => ({ value: sign * Number(value), place: at(id, rows) }),
  };
}

/** The place of an id in the order; between two places if it is not there. */
function placeOfId(ids: readonly string[], order: Uint32Array, id: string): number {
  let low = 0;
  let high = order.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ids[order[middle] ?? 0] ?? '') < id) low = middle + 1;
    else high = middle;
  }
  return ids[order[low] ?? -1] === id ? low : low - 0.5;
}

/** @throws RangeError for a grain that is not kept */
function columnOf({ rows }: FleetIndex, name: string): GrainColumn {
  const column = rows.grains.find((one) => one.name === name);
  if (column === undefined) throw new RangeError(`the grain ${name} is not kept`);
  return column;
}

/** The filters of a row as bits: 0 if it passes all. */
function filterOf(
  index: FleetIndex,
  sight: RowSight,
  { id, keys, present, hasDenied, grains = [], drifts, silentSince }: FleetQuery,
): (row: number) => number {
  const { columns, ids } = index.rows;
  const wantedKeys = keys && new Set(keys.map((key) => KEYS.indexOf(key) + 1));
  const wantedDrifts = drifts && new Set(drifts.map((drift) => DRIFTS.indexOf(drift)));
  const fitsId = id === undefined ? undefined : idTest(id);
  const byGrain = grains.map(({ name, texts }) => {
    const column = columnOf(index, name);
    const place = index.rows.grains.indexOf(column);
    const codes = new Set(texts.map((text) => column.texts.codeOf(text)));
    return { column, codes, bit: FIRST_GRAIN_BIT << place };
  });
  return (row) => {
    let fails = 0;
    const key = columns.key[row] ?? 0;
    if (wantedKeys?.has(key) === false) fails |= KEY_BIT;
    if (present !== undefined) {
      const fits = key === ACCEPTED && (columns.presence[row] === PRESENT) === present;
      if (!fits) fails |= PRESENT_BIT;
    }
    if (wantedDrifts?.has(driftOf(index, row, sight)) === false) fails |= DRIFT_BIT;
    if (silentSince !== undefined && (columns.seenAt[row] ?? 0) >= silentSince) fails |= OTHER_BIT;
    if (hasDenied === true && columns.denied[row] === 0) fails |= OTHER_BIT;
    for (const { column, codes, bit } of byGrain) {
      const code = column.codes[row] ?? 0;
      if (code === 0 || !codes.has(code) || !sight.seesGrains(row)) fails |= bit;
    }
    // The costly one last.
    if ((fails & OTHER_BIT) === 0 && fitsId?.(ids[row] ?? '') === false) fails |= OTHER_BIT;
    return fails;
  };
}

/** What a reader may not see is not known to it. */
function driftOf({ rows }: FleetIndex, row: number, sight: RowSight): number {
  return sight.seesRuns(row) ? rows.driftOf(row) : 0;
}

/** The first rows of an order. */
class Best {
  readonly #max: number;
  #found: (NumericPlace & { readonly row: number })[] = [];
  #worst: NumericPlace | undefined;

  constructor(max: number) {
    this.#max = max;
  }

  add(value: number, place: number, row: number): void {
    if (this.#worst !== undefined && isAfter(value, place, this.#worst)) return;
    this.#found.push({ value, place, row });
    if (this.#found.length >= 2 * this.#max) this.#cut();
  }

  take(): readonly number[] {
    this.#cut();
    return this.#found.map(({ row }) => row);
  }

  #cut(): void {
    this.#found.sort((a, b) => a.value - b.value || a.place - b.place);
    this.#found.length = Math.min(this.#found.length, this.#max);
    if (this.#found.length === this.#max) this.#worst = this.#found.at(-1);
  }
}

/** Counts values of the rows that pass all other filters. */
class FacetCounts {
  readonly #index: FleetIndex;
  readonly #keys = new Uint32Array(KEYS.length + 1);
  readonly #present = new Uint32Array(2);
  readonly #drifts = new Uint32Array(DRIFTS.length);
  readonly #grains: readonly Uint32Array[];

  constructor(index: FleetIndex) {
    this.#index = index;
    this.#grains = index.rows.grains.map(({ texts }) => new Uint32Array(texts.size));
  }

  add(row: number, fails: number, sight: RowSight): void {
    const { columns, grains } = this.#index.rows;
    const key = columns.key[row] ?? 0;
    if ((fails & ~KEY_BIT) === 0) this.#keys[key] = (this.#keys[key] ?? 0) + 1;
    if ((fails & ~PRESENT_BIT) === 0 && key === ACCEPTED) {
      const place = Number(columns.presence[row] === PRESENT);
      this.#present[place] = (this.#present[place] ?? 0) + 1;
    }
    if ((fails & ~DRIFT_BIT) === 0) {
      const drift = driftOf(this.#index, row, sight);
      this.#drifts[drift] = (this.#drifts[drift] ?? 0) + 1;
    }
    // Two failed filters: it counts nowhere.
    if ((fails & (fails - 1)) !== 0 || !sight.seesGrains(row)) return;
    this.#grains.forEach((counts, place) => {
      if ((fails & ~(FIRST_GRAIN_BIT << place)) !== 0) return;
      const code = grains[place]?.codes[row] ?? 0;
      counts[code] = (counts[code] ?? 0) + 1;
    });
  }

  shown(): FleetFacets {
    const [, accepted = 0, pending = 0, rejected = 0, denied = 0] = this.#keys;
    const [no = 0, yes = 0] = this.#present;
    const [unknown = 0, failed = 0, would = 0, clean = 0] = this.#drifts;
    return {
      key: { accepted, pending, rejected, denied },
      present: { yes, no },
      drift: { unknown, failed, would, clean },
      grains: this.#index.rows.grains.map(({ name, texts }, place) => {
        const all = [...(this.#grains[place] ?? [])].flatMap((count, code) =>
          count > 0 && code > 0 ? [{ code, count }] : [],
        );
        const ranks = texts.ranks();
        const rank = (code: number): number => ranks[code] ?? -1;
        all.sort((a, b) => b.count - a.count || rank(a.code) - rank(b.code));
        const values = all
          .slice(0, VALUES_MAX)
          .map(({ code, count }) => ({ value: texts.textOf(code), count }));
        return { name, values, others: all.length - values.length };
      }),
    };
  }
}
