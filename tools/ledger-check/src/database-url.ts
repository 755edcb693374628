import { join } from 'node:path';
import type { MasterOptions } from '@brine/config';
import { runningPostgresUrl } from '@brine/postgres-server';

/**
 * Where a master keeps its jobs: the database that is named, or the one that `brine master` of this
 * or the last release runs. Throws where none runs.
 */
export async function databaseUrlOf(options: MasterOptions): Promise<string> {
  const named = options.brine.postgres.url;
  if (named !== undefined && named !== '') return named;
  const dir = join(options.brine.stateDir, 'postgres');
  const url = runningPostgresUrl(dir);
  if (url === undefined) throw new Error(`no PostgreSQL runs below ${dir}`);
  return url;
}
