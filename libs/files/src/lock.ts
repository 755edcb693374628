import { mkdir, open, rm, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { isSystemError, textIfThere } from './files.ts';
import { isAlive } from './processes.ts';

/** A lock older than this was left by a process that died on another host. */
const STALE_MS = 15 * 60_000;
/** An operator's lock has this in place of a process id. */
const OPERATOR = 'held';

/**
 * Runs a task under a lock file, because several workers share one cache. Undefined while another
 * worker has the lock. The lock of a dead process of this host does not count.
 */
export async function withLock<T>(path: string, task: () => Promise<T>): Promise<T | undefined> {
  if (!(await take(path))) {
    if (!(await isLeftOver(path))) return undefined;
    await rm(path, { force: true });
    if (!(await take(path))) return undefined;
  }
  try {
    return await task();
  } finally {
    await rm(path, { force: true });
  }
}

/** Locks until the file is removed, even if this process ends; false if a lock is there. */
export function lockUntilRemoved(path: string): Promise<boolean> {
  return take(path, OPERATOR);
}

/** True if an operator's lock is there. */
export async function isLocked(path: string): Promise<boolean> {
  return ((await textIfThere(path)) ?? '').startsWith(OPERATOR);
}

async function take(path: string, owner = String(process.pid)): Promise<boolean> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  try {
    const file = await open(path, 'wx', 0o600);
    await file.writeFile(`${owner} ${hostname()}\n`);
    await file.close();
    return true;
  } catch (error) {
    if (isSystemError(error, 'EEXIST')) return false;
    throw error;
  }
}

async function isLeftOver(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  // It was removed just now, and may be another worker's already.
  if (found === undefined || (await isLocked(path))) return false;
  if (Date.now() - found.mtimeMs > STALE_MS) return true;
  const [pid = '', host] = ((await textIfThere(path)) ?? '').trim().split(' ');
  // Empty: it is being written.
  return host === hostname() && pid !== '' && !isAlive(Number(pid));
}
