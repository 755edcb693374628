import { readFile, rm, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 200;
const MAX_WAIT_MS = 900_000;

/**
 * Runs `work` while holding a lock file that names this process. A lock whose process is gone
 * is taken over.
 * @throws Error where the lock is not free within 15 minutes.
 */
export async function withFileLock(path: string, work: () => Promise<void>): Promise<void> {
  const giveUpAt = Date.now() + MAX_WAIT_MS;
  while (!(await take(path))) {
    if (Date.now() > giveUpAt) throw new Error(`${path} has been locked for 15 minutes`);
    await dropIfDead(path);
    await sleep(POLL_MS);
  }
  try {
    await work();
  } finally {
    await rm(path, { force: true });
  }
}

async function take(path: string): Promise<boolean> {
  try {
    await writeFile(path, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

async function dropIfDead(path: string): Promise<void> {
  const text = await readFile(path, 'utf8').catch(() => '');
  const pid = Number(text);
  // Empty: just being written, or just released.
  if (text === '' || !Number.isInteger(pid)) return;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') await rm(path, { force: true });
  }
}
