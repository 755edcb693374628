import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startAsOwner } from '@brine/files';
import { JobCacheError, stateOf } from '@brine/job-cache';
import { errorText } from '@brine/tasks';
import type { Account } from './account.ts';
import type { Binaries } from './binaries.ts';
import { serverEnvironment } from './initialise.ts';
import { clearDataDirectory, ended, endProcess, postmasterPid } from './orphan.ts';
import { ensureRoles, type Passwords } from './roles.ts';

/** How long a server may take until it answers, in ms: it may have a long log to replay. */
const READY_MS = 120_000;
/** How long a fast shutdown may take (it writes a checkpoint), in ms. */
const STOP_MS = 30_000;
/** Lines of the server's log that are kept for the text of an error. */
const KEPT_LINES = 30;

/**
 * Runs the server and ends it (fast shutdown, SIGINT) once our end of standard input is closed. The
 * kernel closes it however we end. POSIX sh gives background commands /dev/null as standard input,
 * hence descriptor 3.
 */
const WATCHDOG = `exec 3<&0
"$@" 3<&- </dev/null &
server=$!
{ cat <&3 >/dev/null; kill -INT "$server" 2>/dev/null; } &
exec 3<&-
wait "$server"`;

/** The parameters of one run of the server. */
export interface ServerSpec {
  readonly dir: string;
  readonly port: number;
  readonly passwords: Passwords;
  readonly binaries: Binaries;
  readonly account: Account;
  readonly onLog: (line: string) => void;
}

/** One run of the server, ready for connections. */
export interface Server {
  readonly pid: number;
  /** Resolves when the server has ended, for any reason, with its last lines. */
  readonly exited: Promise<string>;
  /** Fast shutdown; immediate after 30 s (the log is replayed at the next start). */
  stop(): Promise<void>;
}

/**
 * Starts the server on an existing data directory and waits until it answers.
 *
 * Throws JobCacheError SALT_JOBCACHE_EMBEDDED with the server's last lines if it does not.
 */
export async function runServer(spec: ServerSpec): Promise<Server> {
  const data = join(spec.dir, 'data');
  await clearDataDirectory(data);
  const child = spawnServer(spec, data);
  const lines = keepLines(child, spec.onLog);
  let hasExited = false;
  const exited = new Promise<string>((resolve) => {
    const done = (): void => {
      hasExited = true;
      resolve(lines.join('\n'));
    };
    child.once('error', done);
    child.once('close', done);
  });
  const stop = async (): Promise<void> => {
    child.stdin?.destroy();
    const pid = postmasterPid(data);
    const winner = await Promise.race([exited, sleep(STOP_MS, 'late', { ref: false })]);
    if (winner !== 'late' || pid === undefined) return;
    endProcess(pid, 'SIGQUIT');
    if (!(await ended(pid, 5_000))) endProcess(pid, 'SIGKILL');
    await exited;
  };
  try {
    await untilReady(spec, () => hasExited);
  } catch (error) {
    await stop();
    const output = `${errorText(error)}${lines.length === 0 ? '' : `: ${lines.join(' | ')}`}`;
    throw new JobCacheError('SALT_JOBCACHE_EMBEDDED', output, error);
  }
  return { pid: postmasterPid(data) ?? 0, exited, stop };
}

function spawnServer(spec: ServerSpec, data: string): ChildProcess {
  const settings: Record<string, string | number> = {
    port: spec.port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: 50,
    // The rows of users must never be in a log: no statements, no details.
    log_min_error_statement: 'panic',
    log_error_verbosity: 'terse',
    log_min_messages: 'warning',
    jit: 'off',
    timezone: 'UTC',
  };
  const options = Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${value}`]);
  const words = ['-c', WATCHDOG, 'sh', spec.binaries.postgres, '-D', data, ...options];
  return startAsOwner((as) =>
    spawn('/bin/sh', words, {
      cwd: '/',
      env: serverEnvironment(),
      stdio: ['pipe', 'ignore', 'pipe'],
      // A group of its own: Ctrl-C in a terminal must not stop the database before its writers.
      detached: true,
      ...(spec.account.other ? { uid: spec.account.uid, gid: spec.account.gid } : as),
    }),
  );
}

function keepLines(child: ChildProcess, onLog: (line: string) => void): string[] {
  const lines: string[] = [];
  let rest = '';
  child.stderr?.setEncoding('utf8');
  child.stderr?.on('data', (text: string) => {
    const parts = (rest + text).split('\n');
    rest = (parts.pop() ?? '').slice(-10_000);
    for (const line of parts) {
      onLog(line);
      lines.push(line);
      if (lines.length > KEPT_LINES) lines.shift();
    }
  });
  return lines;
}

async function untilReady(spec: ServerSpec, hasExited: () => boolean): Promise<void> {
  const until = performance.now() + READY_MS;
  for (;;) {
    if (hasExited()) throw new Error('PostgreSQL ended while it started');
    try {
      await ensureRoles(spec.port, spec.passwords);
      return;
    } catch (error) {
      // 28P01: another server listens on the port, or the password file is of other data.
      if (stateOf(error) === '28P01' || performance.now() > until) throw error;
    }
    await sleep(25);
  }
}
