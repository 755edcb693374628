import { createHash } from 'node:crypto';
import { getJob, type Ledger } from '@brine/job-cache';
import { pack, scanMap } from '@brine/wire';
import { fromJson } from '@brine/wire/text';
import pg from 'pg';

/** The fields of a job's row that the check needs. */
export interface StoredJob {
  readonly jid: string;
  /** 0 published, 1 written by pgjsonb, 2 made from a return (000001.sql). */
  readonly origin: number;
  readonly minions: readonly string[];
  readonly closed: boolean;
  readonly deadlineMs: number | null;
  /** The rig's mark of the publish request, if it has one. */
  readonly token: string | null;
}

/** A row of brine.returns or brine.evidence. */
export interface StoredReturn {
  readonly jid: string;
  readonly id: string;
  readonly failed: boolean;
  readonly receivedMs: number;
  readonly hash: string;
}

/** A row in quarantine. */
export interface StoredRefusal {
  readonly kind: string;
  readonly jid: string;
  readonly id: string;
  readonly reason: string;
}

/** The job's states from the rows; `now` is the database's. */
const JOBS = `
SELECT jid, origin, minions, coalesce(deadline_at <= now(), false) AS closed,
  extract(epoch FROM deadline_at)::float8 * 1000 AS "deadlineMs",
  right(load #>> '{kwargs,metadata,storm}', 16) AS token
FROM brine.jobs WHERE jid > $1 ORDER BY jid LIMIT $2`;

const returnsOf = (table: 'returns' | 'evidence'): string => `
SELECT jid, id, failed, extract(epoch FROM received_at)::float8 * 1000 AS "receivedMs", raw,
  CASE WHEN raw IS NULL THEN full_ret::text END AS json
FROM brine.${table} WHERE jid = ANY($1) ORDER BY jid, id`;

const JOBLESS = `
SELECT jid, id FROM brine.returns r
WHERE jid > $1 AND NOT EXISTS (SELECT FROM brine.jobs j WHERE j.jid = r.jid) ORDER BY jid, id`;

const COUNTS = `
SELECT (SELECT count(*) FROM brine.returns WHERE incarnation <> '~pgjsonb')::float8 AS returns,
  (SELECT count(*) FROM brine.jobs WHERE origin = 0)::float8 AS jobs,
  (SELECT coalesce(sum(value), 0) FROM brine.counters WHERE metric IN ('returns', 'scheduled'))
    AS counted_returns,
  (SELECT coalesce(sum(value), 0) FROM brine.counters WHERE metric = 'jobs') AS counted_jobs`;

interface ReturnColumns extends Omit<StoredReturn, 'hash'> {
  readonly raw: Buffer | null;
  readonly json: string | null;
}

/** The database, read only. */
export class StoredLedger {
  readonly pool: pg.Pool;

  constructor(url: string) {
    this.pool = new pg.Pool({
      connectionString: url,
      max: 4,
      connectionTimeoutMillis: 10_000,
      // Read only, so that the check is safe on a production database.
      options: '-c default_transaction_read_only=on',
      application_name: 'brine ledger-check',
    });
    // An idle connection failed: the next query opens another, or fails itself.
    this.pool.on('error', () => undefined);
  }

  /** What Brine itself reports about a job. */
  async ledger(jid: string): Promise<Ledger | undefined> {
    return (await getJob(this.pool, jid))?.ledger;
  }

  /** Jobs behind `after` in the order of jids. */
  async jobs(after: string, limit: number): Promise<StoredJob[]> {
    return (await this.pool.query<StoredJob>(JOBS, [after, limit])).rows;
  }

  /** Returns that count, or evidence, of some jobs. */
  async returns(
    jids: readonly string[],
    table: 'returns' | 'evidence' = 'returns',
  ): Promise<StoredReturn[]> {
    const { rows } = await this.pool.query<ReturnColumns>(returnsOf(table), [jids]);
    return rows.map(({ raw, json, ...rest }) => ({ ...rest, hash: hashOfReturn(raw, json) }));
  }

  /** Returns whose job is missing. */
  async jobless(after: string): Promise<{ readonly jid: string; readonly id: string }[]> {
    return (await this.pool.query<{ jid: string; id: string }>(JOBLESS, [after])).rows;
  }

  async refusals(): Promise<StoredRefusal[]> {
    const text = 'SELECT kind, jid, id, sqlstate || $1 || reason AS reason FROM brine.quarantine';
    return (await this.pool.query<StoredRefusal>(text, [': '])).rows;
  }

  /** Numbers of rows, and the counters for them. */
  async counts(): Promise<{ returns: number; jobs: number; cReturns: number; cJobs: number }> {
    const { rows } = await this.pool.query<Record<string, number>>(COUNTS);
    const [row = {}] = rows;
    const { returns = 0, jobs = 0, counted_returns: cReturns = 0, counted_jobs: cJobs = 0 } = row;
    return { returns, jobs, cReturns, cJobs };
  }

  close(): Promise<void> {
    return this.pool.end();
  }
}

/** The hash of the rig's log: over the packed return value, from the bytes as they came. */
function hashOfReturn(raw: Buffer | null, json: string | null): string {
  const packed =
    raw === null
      ? pack(fromJson((JSON.parse(json ?? '{}') as { return?: unknown }).return ?? null))
      : (scanMap(raw).raw('return') ?? Buffer.alloc(0));
  return createHash('sha256').update(packed).digest('hex').slice(0, 16);
}
