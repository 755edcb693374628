import { setTimeout as sleep } from 'node:timers/promises';
import { isAlive } from '@brine/files';
import { runCommand } from './commands.ts';

/**
 * True if a process is a server that was started with this configuration. The pid alone may now
 * belong to any other program.
 */
export async function isOursAlive(pid: number, confFile: string): Promise<boolean> {
  if (!isAlive(pid)) return false;
  const shown = await runCommand('ps', ['-o', 'args=', '-p', String(pid)], { timeoutMs: 5_000 });
  return shown.ok && shown.output.includes(confFile);
}

/** Waits until a process is gone; false when it is still there after `timeoutMs`. */
export async function waitUntilGone(pid: number, timeoutMs: number): Promise<boolean> {
  const until = performance.now() + timeoutMs;
  while (isAlive(pid)) {
    if (performance.now() > until) return false;
    await sleep(20);
  }
  return true;
}
