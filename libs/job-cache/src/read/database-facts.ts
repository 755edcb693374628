import { errorText } from '@brine/tasks';
import type { Pool, QueryResultRow } from 'pg';
import pg from 'pg';
import { connectionOf } from '../connection/connection.ts';
import { asJobCacheError } from '../connection/errors.ts';
import { select } from '../connection/query.ts';

/** Limit of each query, in ms: an operator waits for the answer. */
const LIMIT_MS = 5_000;
/** Tables in the list, the largest first. */
const TABLES_MAX = 40;
/** Rows in quarantine are counted up to here. */
const COUNTED_MAX = 10_000;

/** Settings that decide durability, speed, and the number of connections. */
const SETTINGS = [
  ...['fsync', 'full_page_writes', 'synchronous_commit', 'synchronous_standby_names'],
  ...['wal_level', 'max_wal_size', 'max_wal_senders', 'hot_standby'],
  ...['max_connections', 'superuser_reserved_connections', 'shared_buffers', 'work_mem'],
  ...['effective_cache_size', 'maintenance_work_mem', 'checkpoint_timeout', 'autovacuum'],
  ...['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout'],
  ...['default_transaction_read_only', 'timezone', 'server_encoding', 'data_checksums', 'ssl'],
] as const;

/** A row of an answer, in JSON's types. */
export type FactRow = Readonly<Record<string, string | number | boolean | null>>;

/** The state of a database, for `brine doctor` and `brine support-bundle`. */
export interface DatabaseFacts {
  readonly server: FactRow;
  /** By name, as `SHOW` has them. */
  readonly settings: Readonly<Record<string, string>>;
  readonly connections: FactRow;
  readonly tables: readonly FactRow[];
  readonly standbys: readonly FactRow[];
  readonly schema: FactRow;
  /** Queries that this user may not run, or that took too long, with the reason. */
  readonly unknown: Readonly<Record<string, string>>;
}

const QUESTIONS = {
  server: `SELECT version() AS version, pg_is_in_recovery() AS standby,
    extract(epoch FROM now())::float8 * 1000 AS "nowMs",
    extract(epoch FROM now() - pg_postmaster_start_time())::float8 AS "upSeconds",
    current_user AS "user", pg_database_size(current_database())::float8 AS bytes`,
  settings: `SELECT name, current_setting(name, true) AS value FROM unnest($1::text[]) AS name`,
  connections: `SELECT count(*)::integer AS total,
    (count(*) FILTER (WHERE state = 'active'))::integer AS active,
    (count(*) FILTER (WHERE wait_event_type = 'Lock'))::integer AS "waitForLocks",
    coalesce(extract(epoch FROM now() - min(xact_start)), 0)::float8 AS "oldestTransactionSeconds"
    FROM pg_stat_activity WHERE backend_type = 'client backend' OR backend_type IS NULL`,
  tables: `SELECT s.schemaname || '.' || s.relname AS "table",
    pg_total_relation_size(s.relid)::float8 AS bytes, s.n_live_tup::float8 AS live,
    s.n_dead_tup::float8 AS dead, greatest(s.last_vacuum, s.last_autovacuum)::text AS vacuumed,
    greatest(s.last_analyze, s.last_autoanalyze)::text AS analyzed
    FROM pg_stat_user_tables s WHERE s.schemaname IN ('brine', 'brine_archive', 'public')
    ORDER BY 2 DESC LIMIT ${TABLES_MAX}`,
  standbys: `SELECT application_name AS name, state, sync_state AS sync,
    coalesce(extract(epoch FROM replay_lag), 0)::float8 AS "behindSeconds"
    FROM pg_stat_replication ORDER BY 1 LIMIT ${TABLES_MAX}`,
  schema: `SELECT (SELECT max(number) FROM brine.migrations) AS migration,
    (SELECT count(*)::integer FROM (SELECT FROM brine.quarantine LIMIT ${COUNTED_MAX}) AS counted)
      AS quarantined,
    (SELECT count(*)::integer FROM (SELECT FROM brine.orphans LIMIT ${COUNTED_MAX}) AS counted)
      AS orphans`,
} as const;

/**
 * Reads the facts of a database, which may not have Brine's schema yet. Facts that can not be read
 * are in `unknown`.
 * @throws JobCacheError where the database can not be reached
 */
export async function databaseFacts(url: string): Promise<DatabaseFacts> {
  const pool = new pg.Pool({ ...connectionOf(url, LIMIT_MS), max: 1 });
  pool.on('error', () => undefined); // The next query reports the fault.
  try {
    const client = await pool.connect().catch((error: unknown) => {
      throw asJobCacheError(error);
    });
    client.release();
    return await readFacts(pool);
  } finally {
    await pool.end();
  }
}

/** The same with existing connections. Never rejects: queries that fail are in `unknown`. */
export async function readFacts(pool: Pool): Promise<DatabaseFacts> {
  const unknown: Record<string, string> = {};
  const asked = async (
    name: keyof typeof QUESTIONS,
    values: readonly unknown[] = [],
  ): Promise<QueryResultRow[]> => {
    try {
      return await select(pool, QUESTIONS[name], values);
    } catch (error) {
      unknown[name] = errorText(error);
      return [];
    }
  };
  const [server = {}] = await asked('server');
  const settings = await asked('settings', [[...SETTINGS]]);
  const [connections = {}] = await asked('connections');
  const tables = await asked('tables');
  const standbys = await asked('standbys');
  const [schema = {}] = await asked('schema');
  const known = settings.filter(({ value }) => typeof value === 'string');
  return {
    server,
    connections,
    tables,
    standbys,
    schema,
    unknown,
    settings: Object.fromEntries(known.map(({ name, value }) => [String(name), String(value)])),
  };
}
