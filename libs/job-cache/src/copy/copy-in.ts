import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { PoolClient } from 'pg';
import pg from 'pg';
import { from } from 'pg-copy-streams';
import { asJobCacheError, JobCacheError } from '../connection/errors.ts';
import { primaryOf } from '../connection/primary-hosts.ts';
import { addUnnumbered, migrate, readMigrations } from '../schema/migrate.ts';
import type { CopiedTable, CopyHead, SequenceValues } from './copy-out.ts';
import { openSession, quoted, quotedTable, type Session } from './session.ts';

/** How much of Brine a database contains. */
export type DatabaseState =
  | { readonly kind: 'absent' | 'empty' }
  /** With rows of a master, or of another backup. */
  | { readonly kind: 'used'; readonly table: string }
  /** With all rows of the backup of this name. */
  | { readonly kind: 'restored'; readonly from: string };

/**
 * Returns that waited for their job have no counts in backups of earlier releases (counts.sql).
 * Without this the ledger of such a job would be short of them.
 */
const DISTRUST_COUNTS = `
INSERT INTO brine.job_counts (jid, lane, came, failed, last_at)
SELECT jid, -1, 0, 0, now() FROM brine.orphans ON CONFLICT (jid, lane) DO NOTHING`;

const NOTE = 'restored from backup ';

/** Restores all tables in one transaction: an interrupted copy leaves the database empty. */
export class CopyIn {
  readonly #session: Session;
  readonly #url: string;

  private constructor(session: Session, url: string) {
    this.#session = session;
    this.#url = url;
  }

  /** Connects; changes nothing. Throws JobCacheError. */
  static async open(url: string): Promise<CopyIn> {
    return new CopyIn(await openSession(url), url);
  }

  /** Reads the present state. Throws JobCacheError. */
  state(): Promise<DatabaseState> {
    return this.#ask(async (client) => {
      if (!(await isThere(client, 'brine.migrations'))) return { kind: 'absent' };
      const noted = await client.query<{ note: string | null }>(
        `SELECT obj_description('brine'::regnamespace, 'pg_namespace') AS note`,
      );
      const note = noted.rows[0]?.note ?? '';
      if (note.startsWith(NOTE)) return { kind: 'restored', from: note.slice(NOTE.length) };
      const table = await firstUsed(client);
      return table === undefined ? { kind: 'empty' } : { kind: 'used', table };
    });
  }

  /**
   * Creates the schema of the backup, and begins. The role has to own the database.
   * @throws JobCacheError `SALT_JOBCACHE_SCHEMA_NEWER` where this release does not know the schema,
   * `SALT_JOBCACHE_SCHEMA_CHANGED` where it knows another one by that number.
   */
  async begin({ migrations, days, archived }: CopyHead): Promise<void> {
    await this.#makeSchema(migrations);
    await this.#ask(async (client) => {
      await client.query('BEGIN');
      for (const day of days) await client.query('SELECT brine.ensure_day($1)', [day]);
      for (const name of archived) await client.query(archivedTable(name));
      await client.query('SELECT brine.attach_archived()');
      // Rows are copied unchanged: triggers are for those of other writers.
      await this.#triggers('DISABLE');
    });
  }

  /** Takes the rows of a table. Throws JobCacheError. */
  table({ name, columns }: CopiedTable, chunks: AsyncIterable<Uint8Array>): Promise<void> {
    const sql = `COPY ${quotedTable(name)} (${columns.map(quoted).join(', ')}) FROM STDIN`;
    return this.#ask(async (client) => {
      // A fault of the source ends the copy with an error, so the transaction can not commit.
      await pipeline(Readable.from(chunks), client.query(from(sql)));
    });
  }

  /** Commits under the name of the backup. Throws JobCacheError. */
  commit(backup: string, sequences: SequenceValues): Promise<void> {
    return this.#ask(async (client) => {
      for (const [name, value] of Object.entries(sequences)) {
        if (value === null) continue;
        await client.query('SELECT setval($1::regclass, $2::bigint)', [quotedTable(name), value]);
      }
      await this.#triggers('ENABLE');
      await client.query(DISTRUST_COUNTS);
      await client.query(`COMMENT ON SCHEMA brine IS ${pg.escapeLiteral(NOTE + backup)}`);
      await client.query('COMMIT');
      // Without it plans have no statistics until the server analyses by itself.
      await client.query('ANALYZE');
    });
  }

  /** Forgets the name of the backup, once all else is restored too. Throws JobCacheError. */
  forget(): Promise<void> {
    return this.#ask(async (client) => {
      await client.query('COMMENT ON SCHEMA brine IS NULL');
    });
  }

  /** Rolls back uncommitted rows. Never rejects. */
  close(): Promise<void> {
    return this.#session.close();
  }

  async #makeSchema(migrations: readonly string[]): Promise<void> {
    const known = await readMigrations();
    const next = migrations.findIndex((sha256, at) => known[at]?.sha256 !== sha256);
    if (next >= known.length) {
      const text =
        `the backup's job cache is at ${migrations.length}, this release knows ` +
        `${known.length}: restore it with the release that made it, or a newer one`;
      throw new JobCacheError('SALT_JOBCACHE_SCHEMA_NEWER', text);
    }
    if (next >= 0) {
      const text = `migration ${next + 1} of the backup's job cache is none of this release`;
      throw new JobCacheError('SALT_JOBCACHE_SCHEMA_CHANGED', text);
    }
    await this.#ask(async (client) => {
      if (!(await isThere(client, 'brine.migrations'))) return;
      const found = await client.query('SELECT FROM brine.migrations');
      if ((found.rowCount ?? 0) <= migrations.length) return;
      const text =
        `the schema of this database is newer than the backup's (${found.rowCount}, ` +
        `${migrations.length}): give a database without the schema brine`;
      throw new JobCacheError('SALT_JOBCACHE_SCHEMA_NEWER', text);
    });
    const pool = new pg.Pool({ ...primaryOf(this.#url), max: 1 });
    // An idle connection with a fault fails again at its next use.
    pool.on('error', () => undefined);
    try {
      // Later migrations change rows, so they run at the master's next start, after the restore.
      await migrate(pool, known.slice(0, migrations.length));
      const client = await pool.connect();
      await addUnnumbered(client).finally(() => client.release());
    } catch (error) {
      throw asJobCacheError(error);
    } finally {
      await pool.end();
    }
  }

  async #triggers(act: 'ENABLE' | 'DISABLE'): Promise<void> {
    const { client } = this.#session;
    const found = await client.query<{ name: string }>(
      `SELECT DISTINCT n.nspname || '.' || c.relname AS name
       FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
       JOIN pg_namespace n ON n.oid = c.relnamespace
       WHERE n.nspname IN ('brine', 'brine_archive') AND c.relkind IN ('r', 'p')`,
    );
    for (const { name } of found.rows) {
      await client.query(`ALTER TABLE ${quotedTable(name)} ${act} TRIGGER USER`);
    }
  }

  async #ask<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    try {
      return await work(this.#session.client);
    } catch (error) {
      throw asJobCacheError(error);
    }
  }
}

/** Names a table as one taken out of the live ones; it is attached to the archive's. */
function archivedTable(name: string): string {
  const parent = /^(?:jobs|returns|evidence|sightings|job_counts|doubts)(?=_\d{8}$)/.exec(
    name,
  )?.[0];
  if (parent === undefined) {
    throw new JobCacheError('SALT_JOBCACHE_REFUSED', `the backup has an odd table: ${name}`);
  }
  const at = `brine_archive.${quoted(name)}`;
  return `CREATE TABLE IF NOT EXISTS ${at} (LIKE brine_archive.${quoted(parent)} INCLUDING ALL)`;
}

async function isThere(client: PoolClient, table: string): Promise<boolean> {
  const found = await client.query<{ there: boolean }>(
    'SELECT to_regclass($1) IS NOT NULL AS there',
    [table],
  );
  return found.rows[0]?.there === true;
}

/** The first table with a row in it. */
async function firstUsed(client: PoolClient): Promise<string | undefined> {
  const found = await client.query<{ name: string }>(
    `SELECT n.nspname || '.' || c.relname AS name
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition
       AND (n.nspname IN ('brine', 'brine_archive')
         OR (n.nspname = 'public' AND c.relname = 'salt_events'))
       AND n.nspname || '.' || c.relname <> 'brine.migrations'
     ORDER BY 1`,
  );
  for (const { name } of found.rows) {
    const rows = await client.query(`SELECT FROM ${quotedTable(name)} LIMIT 1`);
    if (rows.rowCount !== 0) return name;
  }
  return undefined;
}
