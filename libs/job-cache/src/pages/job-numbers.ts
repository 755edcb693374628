import type { Pool } from 'pg';
import { select } from '../connection/query.ts';
import { jidText } from '../read/list-jobs.ts';

/** What jobs of late came to. */
export interface JobNumbers {
  /** Jobs that still wait for minions. */
  readonly open: number;
  /** Minutes in which jobs began, as `YYYYMMDDHHMM` in UTC, and what came of those jobs. */
  readonly minutes: readonly {
    readonly minute: string;
    readonly jobs: number;
    readonly returns: number;
    readonly failed: number;
  }[];
  /** False: there were so many jobs that only the newest ones are counted. */
  readonly isWhole: boolean;
}

/** The newest jobs that are looked at, whosever they are: some 100 ms. */
const LOOKED_AT = 20_000;
const HOUR_MS = 3_600_000;
/** Jobs wait no longer than this, as far as these numbers go; and how much later an id may be. */
const OPEN_MS = 24 * HOUR_MS;
const AHEAD_MS = 24 * HOUR_MS;

const NUMBERS = `
WITH recent AS MATERIALIZED (
  SELECT jid, principal, hidden, targeted, deadline_at > now() AS waits FROM brine.jobs
  WHERE jid >= $1 AND jid <= $2 ORDER BY jid DESC LIMIT ${LOOKED_AT}
), counted AS (
  SELECT j.jid, j.targeted, j.waits, coalesce(sum(c.came), 0) AS came,
    coalesce(sum(c.failed), 0) AS failed
  FROM recent j LEFT JOIN brine.job_counts c ON c.jid = j.jid AND c.jid >= $1 AND c.jid <= $2
  WHERE NOT j.hidden AND ($4::text IS NULL OR j.principal = $4) AND (j.jid >= $3 OR j.waits)
  GROUP BY 1, 2, 3
)
SELECT left(jid, 12) AS minute, jid >= $3 AS late, count(*)::integer AS jobs,
  sum(came)::integer AS returns, sum(failed)::integer AS failed,
  (count(*) FILTER (WHERE waits AND came < coalesce(targeted, came + 1)))::integer AS open,
  (SELECT count(*) < ${LOOKED_AT} FROM recent) AS whole
FROM counted GROUP BY 1, 2 ORDER BY 1`;

interface Line {
  readonly minute: string;
  readonly late: boolean;
  readonly jobs: number;
  readonly returns: number;
  readonly failed: number;
  readonly open: number;
  readonly whole: boolean;
}

/**
 * The jobs of the last hour by minutes, and how many are open. Hidden ones are left out.
 * @param principal only jobs of this one
 */
export async function jobNumbers(pool: Pool, principal?: string): Promise<JobNumbers> {
  const now = Date.now();
  const text = (ms: number): string => jidText(ms, '000');
  const times = [text(now - OPEN_MS), text(now + AHEAD_MS), text(now - HOUR_MS)];
  const lines = await select<Line>(pool, NUMBERS, [...times, principal ?? null]);
  return {
    open: lines.reduce((sum, { open }) => sum + open, 0),
    minutes: lines
      .filter(({ late }) => late)
      .map(({ minute, jobs, returns, failed }) => ({ minute, jobs, returns, failed })),
    isWhole: lines.every(({ whole }) => whole),
  };
}
