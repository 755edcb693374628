import type { PoolClient } from 'pg';
import pg from 'pg';
import { asJobCacheError } from '../connection/errors.ts';
import { primaryOf } from '../connection/primary-hosts.ts';

const CONNECT_TIMEOUT_MS = 5_000;

/** A copy may take any time, but a wait for a lock is limited. */
const SETTINGS = [
  'SET statement_timeout = 0',
  'SET idle_in_transaction_session_timeout = 0',
  `SET lock_timeout = '60s'`,
  // Times and numbers in one form, whatever the server presets.
  `SET DateStyle = 'ISO, YMD'`,
  `SET IntervalStyle = 'postgres'`,
  'SET extra_float_digits = 1',
  `SET TimeZone = 'UTC'`,
  `SET client_encoding = 'UTF8'`,
];

/** A connection of its own, for a transaction that takes long. */
export interface Session {
  readonly client: PoolClient;
  /** Takes back what was not committed. Never rejects. */
  close(): Promise<void>;
}

/** Each connection tries the next host, and any of them may be the primary. */
const ATTEMPTS = 5;

/** Connects to the primary. Throws JobCacheError. */
export async function openSession(url: string): Promise<Session> {
  const pool = new pg.Pool({
    ...primaryOf(url),
    max: 1,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    application_name: 'brine backup',
    keepAlive: true,
  });
  // A connection that fails between two statements fails again at the next one.
  pool.on('error', () => undefined);
  let client: PoolClient | undefined;
  try {
    client = await connected(pool, url);
    client.on('error', () => undefined);
    for (const setting of SETTINGS) await client.query(setting);
  } catch (error) {
    client?.release(true);
    await pool.end();
    throw asJobCacheError(error);
  }
  const session = client;
  const close = async (): Promise<void> => {
    // A connection that is closed in a transaction rolls back.
    session.release(true);
    await pool.end();
  };
  return { client, close };
}

async function connected(pool: pg.Pool, url: string): Promise<PoolClient> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await pool.connect();
    } catch (error) {
      if (attempt === ATTEMPTS || !url.includes(',')) throw error;
    }
  }
}

/** A name as SQL has it. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** `schema.table` as SQL has it. */
export function quotedTable(name: string): string {
  const at = name.indexOf('.');
  return `${quoted(name.slice(0, at))}.${quoted(name.slice(at + 1))}`;
}
