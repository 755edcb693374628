import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { chmod, mkdir, rename, rm, statfs, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ServiceName } from '@brine/bus';
import { BusError } from '@brine/bus';
import { SERVICE_NAMES } from '@brine/bus';
import { childEnvironment } from '@brine/environment';
import { isSystemError, startAsOwner, textIfThere } from '@brine/files';
import { INNER_ACCOUNT } from './accounts.ts';
import type { NatsClusterOptions, SyncInterval } from './conf.ts';
import { natsConf } from './conf.ts';
import { loadOrMakePasswords } from './credentials.ts';
import { isOursAlive, waitUntilGone } from './leftover.ts';

/** Options of a server that runs as a child. */
export interface StartNatsOptions {
  readonly binary: string;
  /** A private directory: configuration, credentials, log, streams. Made if missing. */
  readonly dir: string;
  /** Default: the port of the last start if it is free, else any. */
  readonly port?: number;
  /** In bytes; default 16 GiB, and at most 60 % of the free space. */
  readonly maxFileStore?: number;
  /** Directory with the server's certificate: TLS, and certificates instead of passwords. */
  readonly certificates?: string;
  /** How often the server syncs its files to the disk; default `100ms`. */
  readonly syncInterval?: SyncInterval;
  /** Unique in its cluster. */
  readonly serverName?: string;
  readonly cluster?: NatsClusterOptions;
  /** Port of its HTTP monitoring, on loopback; none if not given. */
  readonly monitorPort?: number;
  /** How long to wait until it answers, in ms; default 15,000. */
  readonly readyTimeoutMs?: number;
}

/** A server that runs as a child. */
export interface NatsServer {
  /** Without a user: `nats://127.0.0.1:<port>`, or `tls://…`. */
  readonly url: string;
  readonly port: number;
  /** NATS_URL for each service, with user and password unless it has a certificate. */
  readonly urls: Readonly<Record<ServiceName, string>>;
  /** JSON, 0600: service → password. */
  readonly credentialsFile: string;
  readonly logFile: string;
  readonly pid: number;
  /** Resolves when the server has ended, expected or not. */
  readonly exited: Promise<{ readonly expected: boolean }>;
  /** Stops it, by force after `graceMs` (default 10,000). Repeated calls: the same promise. */
  readonly stop: (graceMs?: number) => Promise<void>;
  /** Makes it read its certificates again; connections stay. */
  readonly reload: () => void;
}

const GIB = 1024 ** 3;

/**
 * The shell between this process and the server. It ends the server when its input is closed, also
 * when this process is killed. Node has no other way to end a child with itself.
 */
const GUARD = [
  'exec 3<&0',
  '"$0" "$@" 3<&- </dev/null &',
  'p=$!',
  'echo "$p"',
  '(read -r _ <&3; kill -TERM "$p") >/dev/null 2>&1 &',
  'w=$!',
  'exec 3<&-',
  'wait "$p"; s=$?',
  'kill "$w" 2>/dev/null',
  'exit "$s"',
].join('\n');

/**
 * Starts a server in its directory and waits until it answers. It first stops a server that a
 * former run left there.
 * @throws BusError `BUS_SERVER_FAILED`, with the end of the server's log.
 */
export async function startNatsServer(options: StartNatsOptions): Promise<NatsServer> {
  const { dir } = options;
  await mkdir(dir, { recursive: true, mode: 0o700 });
  await chmod(dir, 0o700);
  const confFile = join(dir, 'nats.conf');
  const pidFile = join(dir, 'nats.pid');
  const logFile = join(dir, 'nats.log');
  await stopLeftover(pidFile, confFile);
  const credentialsFile = join(dir, 'credentials.json');
  const passwords = await loadOrMakePasswords(credentialsFile);
  const port = await choosePort(options.port, join(dir, 'port'));
  const maxFileStore = options.maxFileStore ?? (await roomIn(dir));
  const { syncInterval = '100ms', serverName = 'brine', cluster, monitorPort } = options;
  const storeDir = join(dir, 'jetstream');
  await moveIntoAccount(join(storeDir, 'jetstream'));
  const { certificates } = options;
  const access = certificates === undefined ? { passwords } : { certificates };
  const conf = natsConf({
    port,
    storeDir,
    maxFileStore,
    syncInterval,
    serverName,
    ...access,
    ...(cluster === undefined ? {} : { cluster }),
    ...(monitorPort === undefined ? {} : { monitorPort }),
  });
  await writeFile(confFile, conf, { mode: 0o600 });
  await chmod(confFile, 0o600);
  await rm(logFile, { force: true });
  const words = ['-c', GUARD, options.binary, '-c', confFile, '-l', logFile];
  const child = startAsOwner((as) =>
    spawn('/bin/sh', words, {
      env: childEnvironment(process.env),
      stdio: ['pipe', 'pipe', 'ignore'],
      // A group of its own: Ctrl-C in the terminal reaches this process only, which stops it last.
      detached: true,
      ...as,
    }),
  );
  const server = await running(child, options, port, logFile);
  await writeFile(pidFile, String(server.pid), { mode: 0o600 });
  await writeFile(join(dir, 'port'), String(port), { mode: 0o600 });
  const url = `${certificates === undefined ? 'nats' : 'tls'}://127.0.0.1:${port}`;
  const withUser = (service: ServiceName): string =>
    certificates === undefined ? `nats://${service}:${passwords[service]}@127.0.0.1:${port}` : url;
  const urls = Object.fromEntries(SERVICE_NAMES.map((name) => [name, withUser(name)]));
  return {
    ...server,
    url,
    port,
    urls: urls as Record<ServiceName, string>,
    credentialsFile,
    logFile,
  };
}

type Running = Pick<NatsServer, 'pid' | 'exited' | 'stop' | 'reload'>;

async function running(
  child: ChildProcess,
  options: StartNatsOptions,
  port: number,
  logFile: string,
): Promise<Running> {
  let stopping: Promise<void> | undefined;
  let gone = false;
  const exited = new Promise<{ readonly expected: boolean }>((resolve) => {
    const end = (): void => {
      gone = true;
      resolve({ expected: stopping !== undefined });
    };
    child.once('exit', end);
    child.once('error', end);
  });
  const pid = await Promise.race([firstNumber(child), exited.then(() => undefined)]);
  const until = performance.now() + (options.readyTimeoutMs ?? 15_000);
  while (!gone && performance.now() < until && !(await isReady(logFile))) await sleep(20);
  const stop = (graceMs = 10_000): Promise<void> => {
    stopping ??= stopChild(child, pid, exited, graceMs);
    return stopping;
  };
  if (pid === undefined || gone || !(await isReady(logFile))) {
    await stop(1_000);
    const log = (await readText(logFile)).trim().split('\n').slice(-3).join(' | ');
    throw new BusError('BUS_SERVER_FAILED', `nats-server did not start on port ${port}: ${log}`);
  }
  child.unref();
  return { pid, exited, stop, reload: () => signal(pid, 'SIGHUP') };
}

async function stopChild(
  child: ChildProcess,
  pid: number | undefined,
  exited: Promise<unknown>,
  graceMs: number,
): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || pid === undefined) {
    child.stdin?.destroy();
    return;
  }
  child.ref();
  signal(pid, 'SIGTERM');
  const timer = setTimeout(() => signal(pid, 'SIGKILL'), graceMs);
  await exited;
  clearTimeout(timer);
  child.stdin?.destroy();
}

async function stopLeftover(pidFile: string, confFile: string): Promise<void> {
  const pid = Number(await readText(pidFile));
  if (!Number.isInteger(pid) || pid <= 1 || !(await isOursAlive(pid, confFile))) return;
  signal(pid, 'SIGTERM');
  if (await waitUntilGone(pid, 10_000)) return;
  signal(pid, 'SIGKILL');
  await waitUntilGone(pid, 5_000);
}

function signal(pid: number, name: 'SIGTERM' | 'SIGKILL' | 'SIGHUP'): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (!isSystemError(error, 'ESRCH')) throw error;
  }
}

function firstNumber(child: ChildProcess): Promise<number | undefined> {
  return new Promise((resolve) => {
    child.stdout?.once('data', (chunk: Buffer) => {
      const pid = Number.parseInt(chunk.toString('utf8'), 10);
      resolve(Number.isInteger(pid) ? pid : undefined);
    });
  });
}

async function isReady(logFile: string): Promise<boolean> {
  return (await readText(logFile)).includes('Server is ready');
}

async function readText(path: string): Promise<string> {
  return (await textIfThere(path)) ?? '';
}

async function choosePort(wanted: number | undefined, portFile: string): Promise<number> {
  if (wanted !== undefined && wanted > 0) return wanted;
  // Prefer the last port, so that services that outlived the server find it.
  const last = Number(await readText(portFile));
  if (Number.isInteger(last) && last > 0 && last < 65_536) {
    const free = await tryPort(last);
    if (free !== undefined) return free;
  }
  const any = await tryPort(0);
  if (any === undefined) throw new BusError('BUS_SERVER_FAILED', 'no free port on 127.0.0.1');
  return any;
}

function tryPort(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(undefined));
    probe.listen(port, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === 'object' ? address?.port : undefined));
    });
  });
}

async function roomIn(dir: string): Promise<number> {
  const { bavail, bsize } = await statfs(dir);
  return Math.floor(Math.min(16 * GIB, bavail * bsize * 0.6));
}

/** Streams from before there were accounts are in the server's nameless account. */
async function moveIntoAccount(store: string): Promise<void> {
  try {
    await rename(join(store, '$G'), join(store, INNER_ACCOUNT));
  } catch (error) {
    if (!isSystemError(error, 'ENOENT', 'ENOTEMPTY')) throw error;
  }
}
