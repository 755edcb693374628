import type { Pool } from 'pg';
import { asJobCacheError, isRefused } from '../connection/errors.ts';
import { clearDoubts } from '../counts/clear-doubts.ts';

/** Orphans of one statement. */
const MAX_ORPHANS = 1_000;

/** The lowest return of each jid makes the job, as Salt's store_job does (salt/utils/job.py). */
const ADOPT = `
WITH ripe AS (
  SELECT jid FROM brine.orphans WHERE seen_at <= now() - $1::float8 * interval '1 millisecond'
    AND ($2::text IS NULL OR jid = $2)
  ORDER BY jid LIMIT ${MAX_ORPHANS} FOR UPDATE SKIP LOCKED
),
adopted AS (
  INSERT INTO brine.jobs (jid, load, "user", fun, tgt, tgt_type, minions, published_at, origin,
    incarnation, seq)
  SELECT ripe.jid,
    jsonb_build_object('jid', ripe.jid, 'fun', r.full_ret->'fun',
      'arg', coalesce(r.full_ret->'fun_args', '[]'), 'tgt', r.id, 'tgt_type', 'glob')
      || CASE WHEN r.full_ret ? 'user' THEN jsonb_build_object('user', r.full_ret->'user')
        ELSE '{}' END,
    coalesce(r.full_ret->>'user', ''), brine.texts(r.full_ret->'fun'), ARRAY[r.id], 'glob',
    ARRAY[r.id], r.received_at, 2, r.incarnation, r.seq
  FROM ripe CROSS JOIN LATERAL (
    SELECT * FROM brine.returns WHERE returns.jid = ripe.jid ORDER BY incarnation, seq LIMIT 1
  ) AS r
  ON CONFLICT (jid) DO NOTHING
  RETURNING jid
),
prolonged AS (
  UPDATE brine.jobs j SET deadline_at = seen.until
  FROM ripe JOIN brine.jobs old ON old.jid = ripe.jid CROSS JOIN LATERAL brine.running_until(
    old.jid, old.minions, old.published_at,
    coalesce(old.deadline_after, old.deadline_at - old.published_at)) AS seen(until)
  WHERE j.jid = ripe.jid AND seen.until > j.deadline_at
),
forgotten AS (
  DELETE FROM brine.orphans USING ripe WHERE orphans.jid = ripe.jid
)
SELECT count(*)::integer AS adopted FROM adopted`;

const RIPE = `
SELECT jid FROM brine.orphans WHERE seen_at <= now() - $1::float8 * interval '1 millisecond'
ORDER BY jid LIMIT ${MAX_ORPHANS}`;

const LATER = `UPDATE brine.orphans SET seen_at = now() + interval '1 hour' WHERE jid = $1`;

/**
 * Makes jobs for returns whose job has not come within `afterMs`: runs that Brine did not publish
 * (salt-call, schedule). A publication that comes later replaces such a job. A minion that was seen
 * running prolongs the job. A job that PostgreSQL refuses waits for an hour; its return is stored.
 * Doubts about returns of jobs that came meanwhile are cleared (counts.sql).
 *
 * Returns the number of jobs made. Throws JobCacheError.
 */
export async function adoptOrphans(pool: Pool, afterMs: number): Promise<number> {
  await clearRipe(pool, afterMs);
  try {
    return await adopt(pool, afterMs, null);
  } catch (error) {
    if (!isRefused(error)) throw error;
    return adoptOneByOne(pool, afterMs);
  }
}

async function clearRipe(pool: Pool, afterMs: number): Promise<void> {
  try {
    const { rows } = await pool.query<{ jid: string }>(RIPE, [afterMs]);
    await clearDoubts(
      pool,
      rows.map(({ jid }) => jid),
    );
  } catch (error) {
    throw asJobCacheError(error);
  }
}

async function adoptOneByOne(pool: Pool, afterMs: number): Promise<number> {
  const { rows } = await pool.query<{ jid: string }>(RIPE, [afterMs]);
  let adopted = 0;
  for (const { jid } of rows) {
    try {
      adopted += await adopt(pool, afterMs, jid);
    } catch (error) {
      if (!isRefused(error)) throw error;
      await pool.query(LATER, [jid]);
    }
  }
  return adopted;
}

async function adopt(pool: Pool, afterMs: number, jid: string | null): Promise<number> {
  try {
    const result = await pool.query<{ adopted: number }>(ADOPT, [afterMs, jid]);
    return result.rows[0]?.adopted ?? 0;
  } catch (error) {
    throw asJobCacheError(error);
  }
}
