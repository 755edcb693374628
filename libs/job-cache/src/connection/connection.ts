import type pg from 'pg';
import { primaryOf } from './primary-hosts.ts';

/** Opening a connection may take this long, in ms. */
const CONNECT_TIMEOUT_MS = 5_000;
/** So much later than a statement may take, without an answer, the connection is dead, in ms. */
const DEAD_AFTER_MS = 10_000;

/**
 * How a pool connects to the primary of a URL. A statement ends after `limitMs`; waits for locks
 * end before it does: they are an outage and no fault of a row.
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
