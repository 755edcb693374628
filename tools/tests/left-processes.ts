import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** In the environment of all that a run starts; with a directory that no other run has. */
export const RUN_VARIABLE = 'BRINE_TEST_REPORTS';

/** One that was killed is gone soon; one that hangs in the kernel is not waited for. */
const ROUNDS = 100;
const ROUND_MS = 10;

/**
 * Kills every process that this run has started and that is still there: masters, minions and
 * servers have process groups of their own and outlive the test file that was cut off. Linux.
 *
 * @param dir what {@link RUN_VARIABLE} is in their environment
 * @returns how many there were
 */
export async function endLeftProcesses(dir: string): Promise<number> {
  const ended = new Set<number>();
  // Again: a process may have started another one just before.
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

/** Empty for one that has ended, also where its parent has not asked for its exit code yet. */
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
