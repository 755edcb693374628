import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readServers, SERVICE_NAMES } from '@brine/bus';
import type { MasterOptions } from '@brine/config';
import { type NatsServer, resolveNatsServer, startNatsServer } from '@brine/nats-server';
import { startPostgres } from '@brine/postgres-server';
import { MASTER_SERVICES, type MasterServiceName, serviceRestarts } from '@brine/service/processes';
import type { Log } from '@brine/telemetry';

/** NATS or PostgreSQL: a server of this master's own, or one that is configured. */
export interface Neighbour<T> {
  readonly value: T;
  /** Stops the server if this master started it. Never rejects. */
  stop(): Promise<void>;
}

/**
 * Returns the address of NATS for each service: the configured server, or one started here.
 * @param isKept restarts the server when it ends
 */
export async function openNats(
  options: MasterOptions,
  log: Log,
  isKept = true,
): Promise<Neighbour<(service: MasterServiceName) => string>> {
  const named = options.brine.nats.url;
  if (named !== undefined && named !== '') {
    // Checked here, because otherwise each service would restart forever on an invalid URL.
    for (const name of MASTER_SERVICES) readServers({ ...options.brine.nats, url: named, name });
    return { value: () => named, stop: async () => {} };
  }
  const binary = await resolveNatsServer({
    env: process.env,
    onProgress: (text) => log.info(text),
  });
  const dir = join(options.brine.stateDir, 'nats');
  const { syncInterval } = options.brine;
  const first = await startNatsServer({ binary, dir, syncInterval });
  log.info({ port: first.port, pid: first.pid }, 'NATS runs');
  let stopping = false;
  let current = first;
  const keep = async (): Promise<void> => {
    const backoff = serviceRestarts();
    let startedAt = performance.now();
    while (!stopping) {
      await current.exited;
      if (stopping) return;
      const delayMs = backoff.next(performance.now() - startedAt);
      log.error({ delayMs }, 'NATS ended, restarting');
      await sleep(delayMs);
      startedAt = performance.now();
      const again = { binary, dir, port: first.port, syncInterval };
      const next = await restart(() => startNatsServer(again), log);
      if (next) current = next;
    }
  };
  if (isKept) void keep();
  return {
    value: (service) =>
      through(
        options.brine.testing.natsVia,
        first.urls[SERVICE_NAMES.find((name) => name === service) ?? 'admin'],
      ),
    stop: async () => {
      stopping = true;
      await current.stop();
    },
  };
}

/** As {@link openNats}, for PostgreSQL, which the job cache uses. */
export async function openPostgres(
  options: MasterOptions,
  log: Log,
  isKept = true,
): Promise<Neighbour<string>> {
  const named = options.brine.postgres.url;
  if (named !== undefined && named !== '') return { value: named, stop: async () => {} };
  const server = await startPostgres({
    dir: join(options.brine.stateDir, 'postgres'),
    restart: isKept,
    onLog: (line) => log.debug({ line }, 'PostgreSQL'),
    onDown: (err) => log.error({ err }, 'PostgreSQL is down; returns wait in the stream'),
    onUp: (pid) => log.info({ pid }, 'PostgreSQL runs again'),
  });
  log.info({ port: server.port, pid: server.pid() }, 'PostgreSQL runs');
  return {
    value: through(options.brine.testing.postgresVia, server.url),
    stop: () => server.stop(),
  };
}

/** The same server and user at another address, if one is given. */
function through(address: string | undefined, url: string): string {
  return address === undefined || address === '' ? url : url.replace(/@[^@/]+/, `@${address}`);
}

async function restart(
  start: () => Promise<NatsServer>,
  log: Log,
): Promise<NatsServer | undefined> {
  try {
    const server = await start();
    log.info({ port: server.port, pid: server.pid }, 'NATS runs again');
    return server;
  } catch (error) {
    log.error({ err: error }, 'NATS does not start');
    return undefined;
  }
}
