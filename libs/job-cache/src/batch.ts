import { asJobCacheError, isRefusedRow, stateOf } from './errors.ts';

/** Rows of one statement: beyond this the gain per row is gone (measured: see README). */
const MAX_ROWS = 500;
/** Bytes of one statement; a single row may be larger and then goes alone. */
const MAX_BYTES = 8 * 1024 * 1024;

/** The SQLSTATE of a statement that took too long: fewer rows may be done in time. */
const STATEMENT_TIMEOUT = '57014';

/** A row made ready for a statement. */
export interface PreparedRow {
  /** What the table's primary key is, as one text. */
  readonly key: string;
  /** The JSON object of the row, without its closing brace: see {@link statementParameters}. */
  readonly json: string;
  /** The exact bytes, for the bytea column. */
  readonly raw: Uint8Array;
}

/**
 * Writes rows in as few statements as the limits allow. A statement may hold a key once,
 * so a second row of the same key goes into a later one. Where PostgreSQL refuses a statement for
 * what a row holds, the statement is split until the row is alone, which then goes to `refuse`.
 *
 * Throws JobCacheError for outages; what was written before stays written.
 */
export async function writeInBatches<Row extends PreparedRow>(
  rows: readonly Row[],
  write: (rows: readonly Row[]) => Promise<void>,
  refuse: (row: Row, error: unknown) => Promise<void>,
): Promise<void> {
  let rest = rows;
  while (rest.length > 0) {
    const batch: Row[] = [];
    const later: Row[] = [];
    const keys = new Set<string>();
    let bytes = 0;
    let full = false;
    for (const row of rest) {
      const size = row.json.length + row.raw.byteLength;
      full ||= batch.length >= MAX_ROWS || (batch.length > 0 && bytes + size > MAX_BYTES);
      if (full || keys.has(row.key)) {
        later.push(row);
        continue;
      }
      keys.add(row.key);
      batch.push(row);
      bytes += size;
    }
    // All writers lock in the same order, so that they can not wait for each other in a circle.
    batch.sort((a, b) => (a.key < b.key ? -1 : 1));
    await writeOrSplit(batch, write, refuse);
    rest = later;
  }
}

async function writeOrSplit<Row extends PreparedRow>(
  rows: readonly Row[],
  write: (rows: readonly Row[]) => Promise<void>,
  refuse: (row: Row, error: unknown) => Promise<void>,
): Promise<void> {
  try {
    await write(rows);
  } catch (error) {
    const isSlow = stateOf(error) === STATEMENT_TIMEOUT;
    if (!isRefusedRow(error) && !(isSlow && rows.length > 1)) throw asJobCacheError(error);
    const [only] = rows;
    if (rows.length === 1 && only !== undefined) return refuse(only, error);
    const half = Math.ceil(rows.length / 2);
    await writeOrSplit(rows.slice(0, half), write, refuse);
    await writeOrSplit(rows.slice(half), write, refuse);
  }
}

/**
 * The two parameters of a batch: all rows as one JSON text (3 times cheaper than arrays, whose
 * escaping burns the writer's CPU), and all raw bytes as one bytea, of which each row names its
 * part by `start` (from 1, as SQL counts) and `length`. Bytes pass without any escaping.
 */
export function statementParameters(rows: readonly PreparedRow[]): [json: string, raw: Buffer] {
  let start = 1;
  const parts: string[] = [];
  for (const row of rows) {
    parts.push(`${row.json},"start":${start},"length":${row.raw.byteLength}}`);
    start += row.raw.byteLength;
  }
  return [`[${parts.join(',')}]`, Buffer.concat(rows.map((row) => row.raw))];
}
