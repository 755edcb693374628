import { join } from 'node:path';
import { textNowIfThere } from '@brine/files';
import { EMBEDDED_DATABASE, EMBEDDED_USER } from './initialise.ts';

/** The line of postmaster.pid that has the port (PostgreSQL: src/include/utils/pidfile.h). */
const PORT_LINE = 3;

/**
 * The URL of the server that another process of this host runs below a directory. Undefined where
 * none runs.
 */
export function runningPostgresUrl(dir: string): string | undefined {
  const password = textNowIfThere(join(dir, 'password'))?.trim();
  const lines = textNowIfThere(join(dir, 'data', 'postmaster.pid'))?.split('\n') ?? [];
  const port = Number(lines[PORT_LINE]?.trim() ?? '');
  if (password === undefined || !Number.isInteger(port) || port <= 0) return undefined;
  return `postgres://${EMBEDDED_USER}:${password}@127.0.0.1:${port}/${EMBEDDED_DATABASE}`;
}
