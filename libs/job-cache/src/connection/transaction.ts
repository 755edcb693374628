import type { Pool, PoolClient } from 'pg';
import { asJobCacheError } from './errors.ts';

/** Does work in one transaction; rolls back when it throws. Throws JobCacheError. */
export async function inTransaction<T>(
  pool: Pool,
  work: (client: PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect().catch((error: unknown) => {
    throw asJobCacheError(error);
  });
  let isDone = false;
  try {
    await client.query('BEGIN');
    const value = await work(client);
    await client.query('COMMIT');
    isDone = true;
    return value;
  } catch (error) {
    throw asJobCacheError(error);
  } finally {
    // Closing a connection in the middle of a transaction rolls back.
    client.release(!isDone);
  }
}
