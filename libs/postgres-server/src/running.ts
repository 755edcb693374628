import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { EMBEDDED_DATABASE, EMBEDDED_USER } from './initialise.ts';

/** The line of postmaster.pid that has the port (PostgreSQL: src/include/utils/pidfile.h). */
const PORT_LINE = 3;

/**
 * The URL of the server that another process of this host runs below a directory. Undefined where
 * none runs.
 */
export async function runningPostgresUrl(dir: string): Promise<string | undefined> {
  const password = (await textOf(join(dir, 'password')))?.trim();
  const lines = (await textOf(join(dir, 'data', 'postmaster.pid')))?.split('\n') ?? [];
  const port = Number(lines[PORT_LINE]?.trim() ?? '');
  if (password === undefined || !Number.isInteger(port) || port <= 0) return undefined;
  return `postgres://${EMBEDDED_USER}:${password}@127.0.0.1:${port}/${EMBEDDED_DATABASE}`;
}

async function textOf(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
