import type { PoolClient } from 'pg';
import { to } from 'pg-copy-streams';
import { asJobCacheError, JobCacheError } from '../connection/errors.ts';
import { openSession, quoted, quotedTable, type Session } from './session.ts';

/** A table with the columns that are copied, as `brine.jobs`. */
export interface CopiedTable {
  readonly name: string;
  readonly columns: readonly string[];
}

/** The schema that a database needs before it can take the copies of its tables. */
export interface CopyHead {
  /** SHA-256 of each migration that was applied, in order. */
  readonly migrations: readonly string[];
  /** Days that have partitions (`20261120`). */
  readonly days: readonly string[];
  /** Tables of days in the archive, by name: attached ones, and others. */
  readonly archived: readonly string[];
  readonly tables: readonly CopiedTable[];
  /** The newest job; empty without one. */
  readonly lastJid: string;
}

/** The last value of a sequence, by `schema.name`; null where it was not used. */
export type SequenceValues = Readonly<Record<string, string | null>>;

const OWN = `n.nspname IN ('brine', 'brine_archive')
  OR (n.nspname = 'public' AND c.relname = 'salt_events')`;

/** Tables in the order of their names; partitions come with their parents. */
const TABLES = `
SELECT n.nspname || '.' || c.relname AS name,
  array_agg(a.attname::text ORDER BY a.attnum) AS columns
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  AND a.attgenerated = ''
WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND (${OWN})
  AND n.nspname || '.' || c.relname <> 'brine.migrations'
GROUP BY 1 ORDER BY 1`;

const DAYS = `
SELECT DISTINCT right(c.relname, 8) AS day
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = 'brine' AND c.relispartition AND c.relname ~ '_[0-9]{8}$'
ORDER BY 1`;

const ARCHIVED = `
SELECT c.relname AS name
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = 'brine_archive' AND c.relkind = 'r'
  AND c.relname ~ '^(jobs|returns|evidence|sightings|job_counts|doubts)_[0-9]{8}$'
ORDER BY 1`;

const SEQUENCES = `
SELECT s.schemaname || '.' || s.sequencename AS name, s.last_value::text AS value,
  has_sequence_privilege(format('%I.%I', s.schemaname, s.sequencename), 'USAGE, SELECT') AS may
FROM pg_sequences s
WHERE s.schemaname IN ('brine', 'brine_archive')
  OR (s.schemaname = 'public' AND s.sequencename = 'seq_salt_events_id')
ORDER BY 1`;

const LAST_JID = `
SELECT coalesce(max(jid), '') AS jid FROM brine.jobs WHERE jid >= '0' AND jid < ':'`;

/** All tables of Brine as they are at one moment, while others continue to write. */
export class CopyOut {
  readonly head: CopyHead;
  readonly #session: Session;

  private constructor(session: Session, head: CopyHead) {
    this.#session = session;
    this.head = head;
  }

  /**
   * Begins to read; undefined where no master has used the database.
   * @throws JobCacheError
   */
  static async open(url: string): Promise<CopyOut | undefined> {
    const session = await openSession(url);
    const { client } = session;
    try {
      await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
      const found = await client.query<{ there: boolean }>(
        "SELECT to_regclass('brine.jobs') IS NOT NULL AS there",
      );
      if (found.rows[0]?.there === true) return new CopyOut(session, await readHead(client));
      await session.close();
      return undefined;
    } catch (error) {
      await session.close();
      throw asJobCacheError(error);
    }
  }

  /** The rows of a table in PostgreSQL's own text form. Throws JobCacheError. */
  async *table({ name, columns }: CopiedTable): AsyncGenerator<Uint8Array, void> {
    const shown = columns.map(quoted).join(', ');
    const sql = `COPY (SELECT ${shown} FROM ${quotedTable(name)}) TO STDOUT`;
    try {
      for await (const chunk of this.#session.client.query(to(sql))) yield chunk as Buffer;
    } catch (error) {
      throw asJobCacheError(error);
    }
  }

  /** The position of the sequences; read last, since they are not part of the snapshot. */
  async sequences(): Promise<SequenceValues> {
    try {
      const { client } = this.#session;
      const found = await client.query<{ name: string; value: string | null; may: boolean }>(
        SEQUENCES,
      );
      const closed = found.rows.find(({ may }) => !may);
      if (closed === undefined) {
        return Object.fromEntries(found.rows.map(({ name, value }) => [name, value]));
      }
      const text = `this role may not read ${closed.name}: give the URL of the database's owner`;
      throw new JobCacheError('SALT_JOBCACHE_QUERY', text);
    } catch (error) {
      throw asJobCacheError(error);
    }
  }

  /** Never rejects: nothing is written. */
  close(): Promise<void> {
    return this.#session.close();
  }
}

async function readHead(client: PoolClient): Promise<CopyHead> {
  const migrations = await client.query<{ sha256: string }>(
    'SELECT sha256 FROM brine.migrations ORDER BY number',
  );
  const days = await client.query<{ day: string }>(DAYS);
  const archived = await client.query<{ name: string }>(ARCHIVED);
  const tables = await client.query<{ name: string; columns: string[] }>(TABLES);
  const last = await client.query<{ jid: string }>(LAST_JID);
  return {
    migrations: migrations.rows.map(({ sha256 }) => sha256),
    days: days.rows.map(({ day }) => day),
    archived: archived.rows.map(({ name }) => name),
    tables: tables.rows,
    lastJid: last.rows[0]?.jid ?? '',
  };
}
