import type { Pool, QueryResultRow } from 'pg';
import { asJobCacheError, isTooSlow, JobCacheError } from './errors.ts';

/** The reason in the answer; the pool itself only reports a timeout. */
const BUSY = 'all connections for questions are busy; ask again later';
const TOO_SLOW = 'the question took PostgreSQL too long; ask for less';

/** Runs a reading query; throws JobCacheError. */
export async function select<Row extends QueryResultRow>(
  pool: Pool,
  text: string,
  values: readonly unknown[],
): Promise<Row[]> {
  try {
    return (await pool.query<Row>(text, [...values])).rows;
  } catch (error) {
    if (isTooSlow(error)) throw new JobCacheError('SALT_JOBCACHE_SLOW', TOO_SLOW, error);
    const { totalCount, idleCount, options } = pool;
    const isBusy = totalCount - idleCount >= options.max;
    if (isBusy && isPoolTimeout(error)) throw new JobCacheError('SALT_JOBCACHE_AWAY', BUSY, error);
    throw asJobCacheError(error);
  }
}

/** Matches by message: pg-pool gives this error no code. */
function isPoolTimeout(error: unknown): boolean {
  return error instanceof Error && error.message === 'timeout exceeded when trying to connect';
}
