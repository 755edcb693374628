/** A row of a list, at its place. */
export interface PlacedRow<Row> {
  readonly index: number;
  readonly row: Row;
}

/**
 * The rows that one sees. What a row shows changes at once; a row that would come to another place
 * waits until it is let: nothing moves under the pointer.
 */
export class SteadyRows<Row> {
  readonly #keyOf: (row: Row) => string;
  readonly #watchers = new Set<() => void>();
  #rows: ReadonlyMap<number, Row> = new Map();
  #total = 0;
  #moved = 0;
  #fresh: readonly PlacedRow<Row>[] = [];
  #freshTotal = 0;
  #version = 0;

  constructor(keyOf: (row: Row) => string) {
    this.#keyOf = keyOf;
  }

  /** All rows of the list, those that are not here too. */
  get total(): number {
    return this.#total;
  }

  /** Places whose row waits. */
  get moved(): number {
    return this.#moved;
  }

  /** Another number after each change. */
  get version(): number {
    return this.#version;
  }

  rowAt(index: number): Row | undefined {
    return this.#rows.get(index);
  }

  readonly watch = (changed: () => void): (() => void) => {
    this.#watchers.add(changed);
    return () => void this.#watchers.delete(changed);
  };

  /** Takes the rows around what is seen, as they are now; others are forgotten. */
  take(fresh: readonly PlacedRow<Row>[], total: number): void {
    this.#fresh = fresh;
    this.#freshTotal = total;
    const byKey = new Map(fresh.map(({ row }) => [this.#keyOf(row), row]));
    const rows = new Map<number, Row>();
    let moved = 0;
    for (const { index, row } of fresh) {
      const before = this.#rows.get(index);
      const isSame = before === undefined || this.#keyOf(before) === this.#keyOf(row);
      rows.set(index, isSame ? row : (byKey.get(this.#keyOf(before)) ?? before));
      if (!isSame) moved += 1;
    }
    for (const [index, row] of this.#rows) {
      if (index < total || rows.has(index)) continue;
      rows.set(index, byKey.get(this.#keyOf(row)) ?? row);
      moved += 1;
    }
    this.#set(rows, moved === 0 ? total : Math.max(this.#total, total), moved);
  }

  /** Lets all rows to their places. */
  release(): void {
    const rows = new Map(this.#fresh.map(({ index, row }) => [index, row]));
    this.#set(rows, this.#freshTotal, 0);
  }

  #set(rows: ReadonlyMap<number, Row>, total: number, moved: number): void {
    this.#rows = rows;
    this.#total = total;
    this.#moved = moved;
    this.#version += 1;
    for (const changed of this.#watchers) changed();
  }
}

/** A part of a list, from `first` on. */
export interface RowsPage<Row> {
  readonly first: number;
  readonly items: readonly Row[];
}

/**
 * A page after rows of it have changed; undefined if it has a gap now, so that it has to be asked
 * for again.
 * @param size rows of a page
 * @param total rows of the list
 */
export function patchedPage<Row>(
  { first, items }: RowsPage<Row>,
  changed: readonly PlacedRow<Row>[],
  { size, total }: { readonly size: number; readonly total: number },
): RowsPage<Row> | undefined {
  const length = Math.max(0, Math.min(size, total - first));
  const rows = new Map(items.slice(0, length).map((row, at) => [at, row]));
  for (const { index, row } of changed) {
    if (index >= first && index < first + length) rows.set(index - first, row);
  }
  if (rows.size < length) return undefined;
  return { first, items: Array.from({ length }, (_, at) => rows.get(at) as Row) };
}
