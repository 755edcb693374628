import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { errorText } from '@brine/tasks';
import type { Pool, PoolClient } from 'pg';
import { asJobCacheError, isRefused, JobCacheError, stateOf } from '../connection/errors.ts';

/** Key of the advisory lock that serialises migrations of several starters ('brin' in ASCII). */
const MIGRATION_LOCK = 0x6272_696e;

/** SQLSTATE insufficient_privilege, and what helps. */
const FORBIDDEN = '42501';
const AS_OWNER = "run `brine postgres roles` as the database's owner before this release starts";

/** `sql/` beside both `src/` and `dist/`. */
const SQL_DIR = new URL('../../sql/', import.meta.url);

/** A numbered file. */
export interface Migration {
  readonly number: number;
  readonly text: string;
  readonly sha256: string;
}

/** The migrations of this release, in order. Throws where a number is missing. */
export async function readMigrations(dir: URL = SQL_DIR): Promise<readonly Migration[]> {
  const names = (await readdir(dir)).filter((name) => /^\d{6}\.sql$/.test(name)).sort();
  const migrations: Migration[] = [];
  for (const name of names) {
    const number = Number(name.slice(0, 6));
    if (number !== migrations.length + 1) {
      throw new JobCacheError('SALT_JOBCACHE_MIGRATION', `a migration is missing before ${name}`);
    }
    const text = await readFile(new URL(name, dir), 'utf8');
    migrations.push({ number, text, sha256: createHash('sha256').update(text).digest('hex') });
  }
  return migrations;
}

/**
 * Brings the schema up to this release; returns the number of the last migration. Several starters
 * wait for each other. Each migration and its record are one transaction.
 *
 * Throws JobCacheError SALT_JOBCACHE_SCHEMA_NEWER where the database was migrated by a newer
 * release, SALT_JOBCACHE_SCHEMA_CHANGED where a file was edited after it had been applied,
 * SALT_JOBCACHE_MIGRATION where a file fails.
 */
export async function migrate(pool: Pool, migrations?: readonly Migration[]): Promise<number> {
  const known = migrations ?? (await readMigrations());
  let client: PoolClient;
  try {
    client = await pool.connect();
  } catch (error) {
    throw asJobCacheError(error);
  }
  try {
    await client.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    const applied = await readApplied(client);
    assertKnown(applied, known);
    for (const migration of known.slice(applied.length)) await apply(client, migration);
    if (migrations === undefined) await addUnnumbered(client);
    await client.query('SELECT pg_advisory_unlock($1)', [MIGRATION_LOCK]);
    client.release();
    return known.length;
  } catch (error) {
    // Closing the connection gives the lock back whatever state it is in.
    client.release(true);
    throw asJobCacheError(error);
  }
}

/** Objects outside the numbered migrations: a table, and the file that makes it. */
const UNNUMBERED = [
  ['brine.queue_items', 'queues.sql'],
  ['brine.event_return', 'event-return.sql'],
  ['brine.doubts', 'counts.sql'],
  ['brine.digests', 'digests.sql'],
] as const;

/**
 * Makes objects that the release before does not mind. A numbered file would prevent a downgrade,
 * since a release refuses a schema that is newer than its own.
 */
export async function addUnnumbered(client: PoolClient): Promise<void> {
  for (const [table, file] of UNNUMBERED) {
    const found = await client.query<{ there: boolean }>(
      'SELECT to_regclass($1) IS NOT NULL AS there',
      [table],
    );
    if (found.rows[0]?.there === true) continue;
    const text = await readFile(new URL(file, SQL_DIR), 'utf8');
    try {
      await client.query(text);
    } catch (error) {
      if (stateOf(error) !== FORBIDDEN) throw error;
      throw new JobCacheError('SALT_JOBCACHE_MIGRATION', `${file}: ${AS_OWNER}`, error);
    }
  }
}

async function readApplied(client: PoolClient): Promise<readonly string[]> {
  const found = await client.query<{ there: boolean }>(
    "SELECT to_regclass('brine.migrations') IS NOT NULL AS there",
  );
  // A role that may only store rows (roles.sql) is refused even with IF NOT EXISTS.
  if (found.rows[0]?.there !== true) {
    await client.query('CREATE SCHEMA IF NOT EXISTS brine');
    await client.query(`CREATE TABLE IF NOT EXISTS brine.migrations (
      number integer PRIMARY KEY,
      sha256 text NOT NULL,
      applied_at timestamptz NOT NULL DEFAULT now()
    )`);
  }
  const rows = await client.query<{ sha256: string }>(
    'SELECT sha256 FROM brine.migrations ORDER BY number',
  );
  return rows.rows.map((row) => row.sha256);
}

function assertKnown(applied: readonly string[], known: readonly Migration[]): void {
  if (applied.length > known.length) {
    throw new JobCacheError(
      'SALT_JOBCACHE_SCHEMA_NEWER',
      `the job cache's schema is at ${applied.length}, this release knows ${known.length}: ` +
        'a newer Brine has used this database. Start that release, or restore an older copy.',
    );
  }
  for (const [index, sha256] of applied.entries()) {
    if (known[index]?.sha256 === sha256) continue;
    throw new JobCacheError(
      'SALT_JOBCACHE_SCHEMA_CHANGED',
      `migration ${index + 1} of the job cache was applied with another text than this ` +
        "release's: the database belongs to another line of releases.",
    );
  }
}

async function apply(client: PoolClient, migration: Migration): Promise<void> {
  await client.query('BEGIN');
  try {
    await client.query('INSERT INTO brine.migrations (number, sha256) VALUES ($1, $2)', [
      migration.number,
      migration.sha256,
    ]);
    await client.query(migration.text);
    await client.query('COMMIT');
  } catch (error) {
    // The caller closes the connection, which rolls back.
    const state = stateOf(error);
    if (!isRefused(error)) throw error;
    const serverHint =
      typeof error === 'object' && error !== null && 'hint' in error ? error.hint : '';
    const hint = state === FORBIDDEN ? AS_OWNER : serverHint;
    const text = `migration ${migration.number} of the job cache failed: ${errorText(error)}`;
    const advice = typeof hint === 'string' && hint !== '' ? ` (${hint})` : '';
    throw new JobCacheError('SALT_JOBCACHE_MIGRATION', text + advice, error);
  }
}
