import type { Pool } from 'pg';
import { asJobCacheError } from '../connection/errors.ts';
import { select } from '../connection/query.ts';
import type { RefusedRow } from '../save/rows.ts';

/** Rows of one list. */
const LIST_MAX = 1_000;

/** Selects rows in quarantine; a row has to meet all given conditions. */
export interface QuarantineFilter {
  readonly numbers?: readonly number[];
  readonly kind?: string;
  readonly jid?: string;
  /** The minion. */
  readonly id?: string;
  /** An SQLSTATE, or its beginning: `22`. */
  readonly state?: string;
}

/** A row in quarantine as lists show it. Times are unix milliseconds. */
export interface QuarantineHead {
  /** The number that identifies it here. */
  readonly number: number;
  readonly kind: RefusedRow['kind'];
  readonly jid: string;
  readonly id: string;
  readonly state: string;
  readonly reason: string;
  /** The subject of its message in the streams. */
  readonly subject: string;
  readonly incarnation: string;
  readonly seq: number;
  /** The number of its bytes. */
  readonly size: number;
  /** When the stream stored it; null if unknown. */
  readonly storedMs: number | null;
  /** When it was put away. */
  readonly atMs: number;
  /** The number of retries, and the time of the last. */
  readonly tries: number;
  readonly triedMs: number | null;
}

/** A row in quarantine with everything that a retry needs. */
export interface QuarantineRow extends QuarantineHead {
  readonly raw: Buffer;
  /** Facts that came beside the bytes, exactly; empty in rows of earlier releases. */
  readonly about: Readonly<Record<string, unknown>>;
}

const MATCHES = `($1::bigint[] IS NULL OR number = ANY($1)) AND ($2::text IS NULL OR kind = $2)
  AND ($3::text IS NULL OR jid = $3) AND ($4::text IS NULL OR id = $4)
  AND ($5::text IS NULL OR starts_with(sqlstate, $5))`;

const HEAD = `number::float8 AS number, kind, jid, id, sqlstate AS state, reason, subject,
  incarnation, seq::float8 AS seq, octet_length(raw) AS size,
  extract(epoch FROM stored_at)::float8 * 1000 AS "storedMs",
  extract(epoch FROM at)::float8 * 1000 AS "atMs", tries,
  extract(epoch FROM tried_at)::float8 * 1000 AS "triedMs"`;

const LIST = `
SELECT ${HEAD} FROM brine.quarantine WHERE ${MATCHES} ORDER BY number DESC LIMIT $6`;

const COUNT = `SELECT count(*)::integer AS count FROM brine.quarantine WHERE ${MATCHES}`;

/* eslint-disable brine/plain-words -- the name of the column */
const NEXT = `
SELECT ${HEAD}, raw, told AS about FROM brine.quarantine WHERE ${MATCHES} AND number > $6
ORDER BY number LIMIT 1`;
/* eslint-enable brine/plain-words */

const TRIED = `
UPDATE brine.quarantine SET tries = tries + 1, tried_at = now() WHERE number = $1`;

const DONE = `DELETE FROM brine.quarantine WHERE number = $1`;

const DROP = `DELETE FROM brine.quarantine WHERE ${MATCHES}`;

/** The rows in quarantine. They stay until an operator retries or drops them. */
export class QuarantineRows {
  readonly #pool: Pool;
  readonly #reads: Pool;

  constructor(pool: Pool, reads: Pool) {
    this.#pool = pool;
    this.#reads = reads;
  }

  /** The newest rows, up to 1,000, and the number of all. Throws JobCacheError. */
  async list(
    filter: QuarantineFilter,
    limit: number,
  ): Promise<{ readonly total: number; readonly rows: readonly QuarantineHead[] }> {
    const values = valuesOf(filter);
    const most = Math.max(1, Math.min(Math.floor(limit) || 1, LIST_MAX));
    const rows = await select<QuarantineHead>(this.#reads, LIST, [...values, most]);
    const [count] = await select<{ count: number }>(this.#reads, COUNT, values);
    return { total: count?.count ?? 0, rows };
  }

  /** The first row with a higher number, or undefined. Throws JobCacheError. */
  async next(filter: QuarantineFilter, after: number): Promise<QuarantineRow | undefined> {
    const values = [...valuesOf(filter), after];
    const [row] = await select<QuarantineHead & { raw: Buffer; about: Buffer }>(
      this.#reads,
      NEXT,
      values,
    );
    if (row === undefined) return undefined;
    const about: unknown = row.about.length === 0 ? {} : JSON.parse(row.about.toString('utf8'));
    return { ...row, about: about as QuarantineRow['about'] };
  }

  /** Records a retry: removes a row that is stored now, keeps others. Throws JobCacheError. */
  async tried(number: number, isStored: boolean): Promise<void> {
    await this.#change(isStored ? DONE : TRIED, [number]);
  }

  /** Drops rows with their bytes, for good; returns their number. Throws JobCacheError. */
  drop(filter: QuarantineFilter): Promise<number> {
    return this.#change(DROP, valuesOf(filter));
  }

  async #change(text: string, values: unknown[]): Promise<number> {
    try {
      return (await this.#pool.query(text, values)).rowCount ?? 0;
    } catch (error) {
      throw asJobCacheError(error);
    }
  }
}

function valuesOf({ numbers, kind, jid, id, state }: QuarantineFilter): unknown[] {
  return [numbers ?? null, kind ?? null, jid ?? null, id ?? null, state ?? null];
}
