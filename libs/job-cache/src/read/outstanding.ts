import type { Pool } from 'pg';
import { select } from '../connection/query.ts';

/** Jobs of one answer; the newest are left out beyond it. */
const MAX_JOBS = 1_000;

const OUTSTANDING = `
SELECT jid, waiting FROM (
  SELECT j.jid, j.published_at, ARRAY(
    SELECT DISTINCT minion COLLATE "C" FROM unnest(j.minions) AS minion
    WHERE NOT EXISTS (SELECT FROM brine.returns r WHERE r.jid = j.jid AND r.id = minion)
    ORDER BY 1
  ) AS waiting
  FROM brine.jobs j
  WHERE j.published_at >= to_timestamp($1::float8 / 1000.0) AND j.origin = 0
    AND (j.deadline_at IS NULL OR j.deadline_at > now())
) AS job
WHERE waiting <> '{}'
ORDER BY published_at, jid
LIMIT ${MAX_JOBS}`;

/** A job that some minions have not returned to yet. */
export interface OutstandingJob {
  readonly jid: string;
  readonly waiting: readonly string[];
}

/** Published jobs since a time (unix ms) that wait before their deadline; oldest first. */
export async function outstanding(
  pool: Pool,
  options: { readonly sinceMs: number },
): Promise<readonly OutstandingJob[]> {
  return select<{ jid: string; waiting: string[] }>(pool, OUTSTANDING, [options.sinceMs]);
}
