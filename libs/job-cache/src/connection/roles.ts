import { readFile } from 'node:fs/promises';
import pg from 'pg';
import { migrate } from '../schema/migrate.ts';
import { asJobCacheError } from './errors.ts';

const ROLES = new URL('../../sql/roles.sql', import.meta.url);

/**
 * Brings the schema up to this release and gives the roles `brine_store`, `brine_returner` and
 * `brine_reader` their rights (sql/roles.sql); resolves with the number of the last migration. The
 * URL is that of the database's owner, with the right to make roles unless they exist.
 *
 * Throws JobCacheError as {@link migrate}, or SALT_JOBCACHE_QUERY where a right is missing.
 */
export async function grantRoles(url: string): Promise<number> {
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  // An idle connection with a fault fails again at its next use.
  pool.on('error', () => undefined);
  try {
    const reached = await migrate(pool);
    // Several statements in one query are one transaction.
    await pool.query(await readFile(ROLES, 'utf8'));
    return reached;
  } catch (error) {
    throw asJobCacheError(error);
  } finally {
    await pool.end();
  }
}
