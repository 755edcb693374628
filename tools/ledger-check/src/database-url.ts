import { join } from 'node:path';
import type { MasterOptions } from '@brine/config';
import { runningPostgresUrl } from '@brine/postgres-server';

/**
 * The URL of a master's job database: the configured one, or that of a running `brine master` of
 * this or the last release. Throws if none runs.
 */
export async function databaseUrlOf(options: MasterOptions): Promise<string> {
  const named = options.brine.postgres.url;
  if (named !== undefined && named !== '') return named;
  const dir = join(options.brine.stateDir, 'postgres');
  const url = runningPostgresUrl(dir);
  if (url === undefined) throw new Error(`no PostgreSQL runs below ${dir}`);
  return url;
}
