import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** Variable of all processes of a run, with a directory unique to the run. */
export const RUN_VARIABLE = 'BRINE_TEST_REPORTS';

/** Number of tries: killed processes end soon, and hanging ones are not awaited. */
const ROUNDS = 100;
const ROUND_MS = 10;

/**
 * Kills every remaining process that this run has started: masters, minions and servers have
 * process groups of their own and outlive the test file that was cut off. Linux.
 *
 * @param dir value of {@link RUN_VARIABLE} in their environment
 * @returns number of killed processes
 */
export async function endLeftProcesses(dir: string): Promise<number> {
  const ended = new Set<number>();
  // Repeat: a process may have started another one just before.
  for (let round = 0; round < ROUNDS; round += 1) {
    const found = processesOf(dir);
    if (found.length === 0) break;
    for (const pid of found) if (isKilled(pid)) ended.add(pid);
    await sleep(ROUND_MS);
  }
  return ended.size;
}

function processesOf(dir: string): readonly number[] {
  const mark = `\0${RUN_VARIABLE}=${dir}\0`;
  const pids = readdirSync('/proc').filter(
    (name) => /^\d+$/.test(name) && Number(name) !== process.pid,
  );
  return pids.filter((pid) => environmentOf(pid).includes(mark)).map(Number);
}

/** Empty for an ended process, also for a zombie. */
function environmentOf(pid: string): string {
  try {
    return `\0${readFileSync(`/proc/${pid}/environ`, 'latin1')}`;
  } catch {
    return '';
  }
}

function isKilled(pid: number): boolean {
  try {
    process.kill(pid, 'SIGKILL');
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    return false;
  }
}
