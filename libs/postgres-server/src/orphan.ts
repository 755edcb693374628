import { execFileSync } from 'node:child_process';
import { closeSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { childEnvironment } from '@brine/environment';
import { isAlive } from '@brine/files';
import { JobCacheError, stateOf } from '@brine/job-cache';

/** How long a found server is given for each way of stopping, in ms. */
const STOP_STEP_MS = 10_000;

/**
 * Claims the directory for this process and returns the function that releases it.
 *
 * Throws JobCacheError SALT_JOBCACHE_EMBEDDED while another live process has it: two of them would
 * stop each other's server for ever.
 */
export function claimDirectory(dir: string): () => void {
  const path = join(dir, 'owner');
  const mine = `${process.pid} ${startOf(process.pid)}`;
  for (let attempt = 0; attempt < 3; attempt += 1) {
    try {
      const file = openSync(path, 'wx', 0o600);
      writeSync(file, mine);
      closeSync(file);
      return () => {
        rmSync(path, { force: true });
      };
    } catch (error) {
      if (stateOf(error) !== 'EEXIST') throw error;
    }
    const [pid = '', start = ''] = readText(path).split(' ');
    if (isAlive(Number(pid)) && startOf(Number(pid)) === start) {
      throw new JobCacheError(
        'SALT_JOBCACHE_EMBEDDED',
        `${dir} is in use by process ${pid}, which has started PostgreSQL there: ` +
          'stop it first, or choose another state directory.',
      );
    }
    rmSync(path, { force: true });
  }
  throw new JobCacheError('SALT_JOBCACHE_EMBEDDED', `${path} reappears each time it is removed`);
}

/**
 * Ends a server that an earlier, killed process left behind on this data directory. Removes a
 * postmaster.pid whose number belongs to another program by now; this is common in containers,
 * where the numbers start from 1 again. PostgreSQL would refuse to start for either.
 */
export async function clearDataDirectory(dataDir: string): Promise<void> {
  const path = join(dataDir, 'postmaster.pid');
  const pid = postmasterPid(dataDir);
  if (pid === undefined) return;
  if (!isAlive(pid) || !isPostgres(pid)) {
    rmSync(path, { force: true });
    return;
  }
  for (const signal of ['SIGINT', 'SIGQUIT', 'SIGKILL'] as const) {
    endProcess(pid, signal);
    if (await ended(pid, STOP_STEP_MS)) return;
  }
  throw new JobCacheError(
    'SALT_JOBCACHE_EMBEDDED',
    `PostgreSQL ${pid} runs on ${dataDir} already and does not stop`,
  );
}

/** The process id in postmaster.pid; undefined if the server is down. */
export function postmasterPid(dataDir: string): number | undefined {
  const first = readText(join(dataDir, 'postmaster.pid')).split('\n')[0] ?? '';
  const pid = Number(first);
  return Number.isInteger(pid) && pid > 1 ? pid : undefined;
}

/** Sends a signal; a process that has ended meanwhile is no error. */
export function endProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (stateOf(error) !== 'ESRCH') throw error;
  }
}

/** Waits until the process has ended; false if it has not within the time. */
export async function ended(pid: number, withinMs: number): Promise<boolean> {
  const until = Date.now() + withinMs;
  while (isAlive(pid)) {
    if (Date.now() > until) return false;
    await sleep(20);
  }
  return true;
}

/** The program itself; another one may have its name among its arguments. */
const POSTGRES = /(^|\/)postgres(\0|\s|$)/;

function isPostgres(pid: number): boolean {
  const commandLine = readText(`/proc/${pid}/cmdline`);
  if (commandLine !== '') return POSTGRES.test(commandLine);
  try {
    return POSTGRES.test(
      execFileSync('ps', ['-o', 'command=', '-p', String(pid)], {
        env: childEnvironment(process.env),
        encoding: 'utf8',
      }),
    );
  } catch {
    return false; // ps exits with 1 if there is no such process.
  }
}

/** When the process started, as the kernel counts it; '' if there is no /proc. */
function startOf(pid: number): string {
  const stat = readText(`/proc/${pid}/stat`);
  // Field 22 of proc(5), counted after the name, which may contain spaces and brackets.
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // Missing: the same as empty for every caller here.
  }
}
