import { mkdir, open, readFile, rm, stat, unlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname } from 'node:path';

/** A lock older than this was left by a process that died on another host. */
const STALE_MS = 15 * 60_000;
/** Stands in an operator's lock where others have the id of their process. */
const HELD = 'held';

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

/** Locks until {@link unlock}, whatever becomes of this process; false where a lock is there. */
export function hold(path: string): Promise<boolean> {
  return take(path, HELD);
}

/** Whether an operator's lock is there. */
export async function isHeld(path: string): Promise<boolean> {
  return (await readFile(path, 'utf8').catch(() => '')).startsWith(HELD);
}

/** Removes a lock, also one that is in use; false where there was none. */
export async function unlock(path: string): Promise<boolean> {
  try {
    await unlink(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

async function take(path: string, owner = String(process.pid)): Promise<boolean> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  try {
    const file = await open(path, 'wx', 0o600);
    await file.writeFile(`${owner} ${hostname()}\n`);
    await file.close();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

async function isLeftOver(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  // It was given back just now, and may be another's already.
  if (found === undefined) return false;
  if (await isHeld(path)) return false;
  if (Date.now() - found.mtimeMs > STALE_MS) return true;
  const [pid = '', host] = (await readFile(path, 'utf8').catch(() => '')).trim().split(' ');
  // Empty: it is being written.
  if (host !== hostname() || !/^\d+$/.test(pid)) return false;
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}
