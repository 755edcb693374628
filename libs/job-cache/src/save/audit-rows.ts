import type { AuditRow } from '@brine/job';
import type { Pool } from 'pg';
import { asJobCacheError } from '../connection/errors.ts';
import type { Unfit } from './batch.ts';
import { writeTexts } from './batch.ts';

/** Rows of one page at most. */
const PAGE_MAX = 5_000;

const KEEP = `
INSERT INTO brine.audit (writer, n, at, body, before, seal)
SELECT i.writer, i.n, (i.body::jsonb->>'at')::timestamptz, i.body, i.before, i.seal
FROM jsonb_to_recordset($1::jsonb)
  AS i(writer text, n int8, body text, before text, seal text)
ORDER BY i.writer, i.n
ON CONFLICT (writer, n) DO NOTHING`;

const PAGE = `
SELECT writer, n::float8 AS n, body, before, seal FROM brine.audit
WHERE (writer, n) > ($1, $2) ORDER BY writer, n LIMIT $3`;

const NEWEST = `
SELECT writer, n::float8 AS n, body, before, seal FROM brine.audit
WHERE ($1::text IS NULL OR body::jsonb->>'kind' = $1)
  AND ($2::text IS NULL OR $2 IN (body::jsonb->>'principal', body::jsonb->>'claimed'))
  AND ($4::timestamptz IS NULL OR at >= $4)
  AND ($8::timestamptz IS NULL OR at < $8)
  AND ($5::timestamptz IS NULL OR at <= $5
    AND (at < $5 OR writer > $6 OR writer = $6 AND n < $7::int8))
ORDER BY at DESC, writer, n DESC LIMIT $3`;

/** Only proven log-ins: others have `claimed` instead (libs/job AuditedAct). */
const LOG_INS = `
SELECT DISTINCT ON (body::jsonb->>'principal')
  body::jsonb->>'principal' AS id, (body::jsonb->>'version')::int AS version
FROM brine.audit
WHERE body::jsonb->>'kind' = 'login' AND body::jsonb->>'outcome' LIKE '%accept'
  AND body::jsonb->>'principal' > $1
ORDER BY body::jsonb->>'principal', at DESC LIMIT $2`;

/** The newest log-in of a minion that was accepted and proved that it owns its key. */
export interface LastLogIn {
  readonly id: string;
  /** The version of its payload. */
  readonly version: number;
}

/** Which rows are wanted. Times are unix ms, before the year 10000. */
export interface AuditWanted {
  readonly kind?: string;
  readonly principal?: string;
  /** At or after this time. */
  readonly since?: number;
  /** Before this time. */
  readonly until?: number;
  readonly before?: { readonly at: number; readonly writer: string; readonly n: number };
  readonly limit: number;
}

/** The rows of the audit. */
export class AuditRows {
  readonly #pool: Pool;
  readonly #reads: Pool;

  constructor(pool: Pool, reads: Pool) {
    this.#pool = pool;
    this.#reads = reads;
  }

  /**
   * Stores rows; existing rows stay. Resolves with the rows that PostgreSQL refuses, after the
   * others are stored. Throws JobCacheError for outages.
   */
  save(rows: readonly AuditRow[]): Promise<readonly Unfit<AuditRow>[]> {
    return writeTexts(rows, {
      texts: ({ writer, n, body, before, seal }) => [
        JSON.stringify({ writer, n, body, before, seal }),
      ],
      write: (json) => this.#pool.query({ name: 'keep-audit', text: KEEP, values: [json] }),
    });
  }

  /** All rows by writer and number, a page at a time, after a given row. Throws JobCacheError. */
  page(after: { readonly writer: string; readonly n: number }): Promise<AuditRow[]> {
    return this.#read(PAGE, [after.writer, after.n, PAGE_MAX]);
  }

  /**
   * The newest rows, of a kind and of a proven or claimed name if given, before a row of an earlier
   * answer. Throws JobCacheError.
   */
  newest({ kind, principal, since, until, before, limit }: AuditWanted): Promise<AuditRow[]> {
    const most = Math.max(1, Math.min(limit, PAGE_MAX));
    const asTime = (ms?: number): string | null =>
      ms === undefined ? null : new Date(ms).toISOString();
    const place = [asTime(before?.at), before?.writer ?? null, before?.n ?? null];
    const names = [kind ?? null, principal ?? null];
    return this.#read(NEWEST, [...names, most, asTime(since), ...place, asTime(until)]);
  }

  /**
   * The newest proven log-in of each minion after this one, a page at a time. Throws
   * JobCacheError.
   */
  lastLogIns(after: string): Promise<LastLogIn[]> {
    return this.#read(LOG_INS, [after, PAGE_MAX]);
  }

  async #read<T extends object>(text: string, values: unknown[]): Promise<T[]> {
    try {
      return (await this.#reads.query<T>(text, values)).rows;
    } catch (error) {
      throw asJobCacheError(error);
    }
  }
}
