import { asJobCacheError, isRefused, isTooSlow } from '../connection/errors.ts';

/** Rows of one statement: more bring no further gain (measured: see README). */
const MAX_ROWS = 500;
/** Bytes of one statement; a single row may be larger and then goes alone. */
const MAX_BYTES = 8 * 1024 * 1024;

/** Parts of a statement that took too long: few, since each level costs its whole time. */
const SLOW_PARTS = 8;

/** Tries of a row alone before a timeout counts as its own fault. */
const SLOW_TRIES = 3;
/** Rows remembered at once; a batch has 500, and each try of a further row is its first. */
const SLOW_ROWS = 1_000;
/** Consecutive slow statements after which PostgreSQL is slow, not one of the rows. */
const SLOW_STREAK = 6;

const NO_BYTES = new Uint8Array(0);

/** A row made ready for a statement. */
export interface PreparedRow {
  /** The table's primary key as one text. */
  readonly key: string;
  /** The JSON object of the row, without its closing brace: see {@link statementParameters}. */
  readonly json: string;
  /** The exact bytes, for the bytea column. */
  readonly raw: Uint8Array;
}

/** How the rows of a batch are written. */
export interface Writing<Row extends PreparedRow> {
  readonly write: (rows: readonly Row[]) => Promise<void>;
  /**
   * Takes a row that is refused or too slow even alone. If `isSure` is false, PostgreSQL itself may
   * be slow: a row that can not be stored must not go to quarantine then.
   */
  readonly refuse: (row: Row, error: unknown, isSure: boolean) => Promise<void>;
  /** Shared by all writers of a table. */
  readonly slow: SlowRows;
  /** Rows of one statement, where the default would be too few. */
  readonly maxRows?: number;
}

/**
 * Writes rows in as few statements as the limits allow. A statement may contain a key once, so a
 * second row of the same key goes into a later one. If PostgreSQL refuses the content of a row, the
 * statement is split until that row is alone, and goes to `refuse`. A row whose statement takes too
 * long goes there after some tries; the others do not wait for it.
 *
 * Throws JobCacheError for outages; rows written before stay written.
 */
export async function writeInBatches<Row extends PreparedRow>(
  rows: readonly Row[],
  writing: Writing<Row>,
): Promise<void> {
  const { slow, maxRows = MAX_ROWS } = writing;
  const suspects = rows.filter(({ key }) => slow.has(key));
  let rest = suspects.length === 0 ? rows : rows.filter(({ key }) => !slow.has(key));
  let failure: unknown;
  while (rest.length > 0) {
    const batch: Row[] = [];
    const later: Row[] = [];
    const keys = new Set<string>();
    let bytes = 0;
    let full = false;
    for (const row of rest) {
      const size = row.json.length + row.raw.byteLength;
      full ||= batch.length >= maxRows || (batch.length > 0 && bytes + size > MAX_BYTES);
      if (full || keys.has(row.key)) {
        later.push(row);
        continue;
      }
      keys.add(row.key);
      batch.push(row);
      bytes += size;
    }
    // All writers lock in the same order, so that they can not deadlock.
    batch.sort((a, b) => (a.key < b.key ? -1 : 1));
    failure = (await writeOrSplit(batch, writing)) ?? failure;
    rest = later;
  }
  for (const row of suspects) {
    failure = (await writeOrSplit([row], writing)) ?? failure;
  }
  if (failure !== undefined) throw asJobCacheError(failure);
}

/** A row that PostgreSQL refuses, and its error. */
export interface Unfit<Row> {
  readonly row: Row;
  readonly error: unknown;
}

/** How rows without bytes of their own are written. */
export interface TextWriting<Row> {
  /** The JSON objects of a row; empty if the row fits no JSON. */
  readonly texts: (row: Row) => readonly string[];
  /** Writes these objects, one JSON list, and the rows that they belong to. */
  readonly write: (json: string, rows: readonly Row[]) => Promise<unknown>;
  readonly maxRows?: number;
}

/**
 * As {@link writeInBatches}, for rows that are JSON alone. The statement itself joins rows of the
 * same key. Resolves with the rows that PostgreSQL refuses, after all others are written.
 */
export async function writeTexts<Row>(
  rows: readonly Row[],
  { texts, write, maxRows }: TextWriting<Row>,
): Promise<readonly Unfit<Row>[]> {
  const unfit = new Map<Row, unknown>();
  const prepared = rows.flatMap((row, n) =>
    texts(row).map((json, at) => ({ key: `${n} ${at}`, json, raw: NO_BYTES, row })),
  );
  await writeInBatches(prepared, {
    slow: new SlowRows(),
    ...(maxRows === undefined ? {} : { maxRows }),
    write: async (batch) => {
      const json = `[${batch.map((one) => one.json).join(',')}]`;
      await write(json, [...new Set(batch.map(({ row }) => row))]);
    },
    refuse: ({ row }, error, isSure) => {
      if (!isSure) throw asJobCacheError(error);
      unfit.set(row, error);
      return Promise.resolve();
    },
  });
  return Array.from(unfit, ([row, error]) => ({ row, error }));
}

/** Returns the error of a row that needs another try, after all others are written. */
async function writeOrSplit<Row extends PreparedRow>(
  rows: readonly Row[],
  writing: Writing<Row>,
): Promise<unknown> {
  const [only] = rows;
  try {
    await writing.write(rows);
    writing.slow.wrote();
    if (rows.length === 1 && only !== undefined) writing.slow.forget(only.key);
    return undefined;
  } catch (error) {
    if (isTooSlow(error)) return writeSlow(rows, writing, error);
    if (!isRefused(error)) throw asJobCacheError(error);
    if (rows.length > 1 || only === undefined) return writeParts(rows, writing, 2);
    await writing.refuse(only, error, true);
    return undefined;
  }
}

/** Handles a statement that took too long. */
async function writeSlow<Row extends PreparedRow>(
  rows: readonly Row[],
  writing: Writing<Row>,
  error: unknown,
): Promise<unknown> {
  const { slow, refuse } = writing;
  if (slow.isEverythingSlow()) throw asJobCacheError(error);
  const [only] = rows;
  if (rows.length > 1 || only === undefined) return writeParts(rows, writing, SLOW_PARTS);
  const verdict = slow.judge(only.key);
  if (verdict === 'again') return error;
  await refuse(only, error, verdict === 'guilty');
  slow.forget(only.key);
  return undefined;
}

async function writeParts<Row extends PreparedRow>(
  rows: readonly Row[],
  writing: Writing<Row>,
  parts: number,
): Promise<unknown> {
  const size = Math.ceil(rows.length / parts);
  let failure: unknown;
  for (let at = 0; at < rows.length; at += size) {
    failure = (await writeOrSplit(rows.slice(at, at + size), writing)) ?? failure;
  }
  return failure;
}

/**
 * The two parameters of a batch: all rows as one JSON text, and all raw bytes as one bytea. One
 * text is 3 times cheaper than arrays, whose escaping costs the writer CPU. Each row names its part
 * of the bytes by `start` (from 1, as SQL counts) and `length`. Bytes need no escaping.
 * @param more further fields of each row
 */
export function statementParameters<Row extends PreparedRow>(
  rows: readonly Row[],
  more: (row: Row) => string = () => '',
): [json: string, raw: Buffer] {
  let start = 1;
  const parts: string[] = [];
  for (const row of rows) {
    parts.push(`${row.json}${more(row)},"start":${start},"length":${row.raw.byteLength}}`);
    start += row.raw.byteLength;
  }
  return [`[${parts.join(',')}]`, Buffer.concat(rows.map((row) => row.raw))];
}

/**
 * Rows whose statement took too long although they were alone in it. One timeout may mean that
 * PostgreSQL is busy. After some tries, while other rows were written, it is the row's own fault.
 */
export class SlowRows {
  readonly #tries = new Map<string, { tries: number; readonly since: number }>();
  #written = 0;
  #streak = 0;

  /** True if a row was too slow alone before. */
  has(key: string): boolean {
    return this.#tries.size > 0 && this.#tries.has(key);
  }

  /** Notes a statement that was in time. */
  wrote(): void {
    this.#written += 1;
    this.#streak = 0;
  }

  /** Notes a statement that took too long. True if every statement does. */
  isEverythingSlow(): boolean {
    this.#streak += 1;
    return this.#streak >= SLOW_STREAK;
  }

  /**
   * Notes a try of a row alone: `again` while tries are left. Then it is the row's own fault,
   * `guilty`, if others were written since its first try, else `unsure`.
   */
  judge(key: string): 'again' | 'unsure' | 'guilty' {
    const known = this.#tries.get(key) ?? { tries: 0, since: this.#written };
    known.tries += 1;
    if (this.#tries.size < SLOW_ROWS) this.#tries.set(key, known);
    if (known.tries < SLOW_TRIES) return 'again';
    return this.#written > known.since ? 'guilty' : 'unsure';
  }

  /** The row was written, or put away. */
  forget(key: string): void {
    this.#tries.delete(key);
  }
}
