import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { MasterOptions } from '@brine/config';

/**
 * Where a master keeps its jobs: the database that is named, or the one that `brine master` runs,
 * by the files that it keeps beside its data. Throws as the file system does where it never ran.
 */
export async function databaseUrlOf(options: MasterOptions): Promise<string> {
  const named = options.brine.postgres.url;
  if (named !== undefined && named !== '') return named;
  const dir = join(options.brine.stateDir, 'postgres');
  const lines = (await readFile(join(dir, 'data', 'postmaster.pid'), 'utf8')).split('\n');
  const password = (await readFile(join(dir, 'services-password'), 'utf8')).trim();
  // postmaster.pid: pid, directory, start time, port (PostgreSQL's miscadmin.h).
  return `postgres://brine_services:${password}@127.0.0.1:${Number(lines[3])}/brine`;
}
