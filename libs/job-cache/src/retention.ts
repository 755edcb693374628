import type { Pool } from 'pg';
import { asJobCacheError } from './errors.ts';

/** How long a drop may wait for readers, in ms, before it gives up until the next time. */
const LOCK_TIMEOUT_MS = 5_000;
/** What was refused is kept this long, in days: somebody has to look at it. */
const QUARANTINE_DAYS = 30;

const SWEEP = [
  'DELETE FROM brine.jobs_default WHERE published_at < $1',
  'DELETE FROM brine.returns_default WHERE received_at < $1',
  'DELETE FROM brine.evidence_default WHERE received_at < $1',
  'DELETE FROM public.salt_events WHERE alter_time < $1',
] as const;

/**
 * Forgets jobs and returns older than a time: whole days by dropping their partitions, so up to a
 * day more than asked is kept; of odd jids row by row. Returns the number of dropped partitions.
 *
 * Throws JobCacheError, retryable while readers hold the tables.
 */
export async function dropOlderThan(pool: Pool, beforeMs: number): Promise<number> {
  const client = await pool.connect().catch((error: unknown) => {
    throw asJobCacheError(error);
  });
  let isDone = false;
  try {
    const day = new Date(beforeMs).toISOString().slice(0, 10).replaceAll('-', '');
    await client.query('BEGIN');
    await client.query(`SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}`);
    const result = await client.query<{ dropped: number }>(
      'SELECT brine.drop_days($1) AS dropped',
      [day],
    );
    for (const text of SWEEP) await client.query(text, [new Date(beforeMs)]);
    await client.query(
      `DELETE FROM brine.quarantine WHERE at < now() - interval '${QUARANTINE_DAYS} days'`,
    );
    await client.query('COMMIT');
    isDone = true;
    return result.rows[0]?.dropped ?? 0;
  } catch (error) {
    throw asJobCacheError(error);
  } finally {
    client.release(!isDone);
  }
}
