import { setTimeout as sleep } from 'node:timers/promises';
import { withLock } from '@brine/files';

const POLL_MS = 200;
const MAX_WAIT_MS = 900_000;

/**
 * Runs `work` under a lock file, after its earlier owners.
 * @throws Error if the lock is not free within 15 minutes.
 */
export async function withFileLock(path: string, work: () => Promise<void>): Promise<void> {
  const giveUpAt = Date.now() + MAX_WAIT_MS;
  const done = async (): Promise<true> => {
    await work();
    return true;
  };
  while ((await withLock(path, done)) === undefined) {
    if (Date.now() > giveUpAt) throw new Error(`${path} has been locked for 15 minutes`);
    await sleep(POLL_MS);
  }
}
