import { mkdir, open, readFile, rm, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname } from 'node:path';

/** A lock older than this was left by a process that died on another host. */
const STALE_MS = 15 * 60_000;

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

async function take(path: string): Promise<boolean> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  try {
    const file = await open(path, 'wx', 0o600);
    await file.writeFile(`${process.pid} ${hostname()}\n`);
    await file.close();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

async function isLeftOver(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) return true;
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
