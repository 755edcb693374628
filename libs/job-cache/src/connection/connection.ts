import type pg from 'pg';
import type { Pool, PoolClient } from 'pg';
import { asJobCacheError } from './errors.ts';
import { primaryOf } from './primary-hosts.ts';

/** Opening a connection may take this long, in ms. */
const CONNECT_TIMEOUT_MS = 5_000;
/** A connection without an answer this long after the limit of a statement is dead, in ms. */
const DEAD_AFTER_MS = 10_000;

/**
 * How a pool connects to the primary of a URL. A statement ends after `limitMs`. A wait for a lock
 * ends earlier, since it is an outage and no fault of a row.
 */
export function connectionOf(url: string, limitMs: number): pg.PoolConfig {
  return {
    ...primaryOf(url),
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: limitMs,
    lock_timeout: Math.ceil(limitMs / 2),
    query_timeout: limitMs + DEAD_AFTER_MS,
    application_name: 'brine job-cache',
    keepAlive: true,
  };
}

/**
 * Listens to the faults of all connections of a pool, including those in use or being closed: pg
 * throws a fault without a listener at the process. The next statement fails by itself.
 */
export function followFaults(pool: Pool, onFault: (error: Error) => void): void {
  pool.on('error', onFault);
  pool.on('connect', (client) => client.on('error', () => undefined));
}

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
