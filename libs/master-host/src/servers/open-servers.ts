import { mkdir } from 'node:fs/promises';
import { type Bus, connectBus } from '@brine/bus';
import type { MasterOptions } from '@brine/config';
import { asOwnerOf } from '@brine/files';
import { Releasers } from '@brine/service';
import { claimHost } from '@brine/service/processes';
import type { Log } from '@brine/telemetry';
import { RefusedError } from '../refused-error.ts';
import { ownNatsUrl, ownPostgresUrl, runningMaster } from '../state-dir.ts';
import { openNats, openPostgres } from './neighbours.ts';

/** Services whose supervisor was killed end within this, in ms. */
const LEFTOVER_MS = 15_000;
const CONNECT_MS = 10_000;

/** NATS and PostgreSQL of a master. */
export interface Servers {
  readonly bus: Bus;
  readonly postgresUrl: string;
  /** Stops the servers that were started. Never rejects. */
  close(): Promise<void>;
}

/** How a command opens them. */
export interface OpenServersOptions {
  /** The user of NATS. Only `admin` may take and put back snapshots. */
  readonly as: 'admin' | 'event-bus';
  readonly log: Log;
}

/**
 * Opens NATS and PostgreSQL of a master: configured servers, those of the running master, or its
 * own, which then run until `close`. In the last case no master can start meanwhile. Root starts
 * them as the owner of the state directory.
 * @throws RefusedError, HostTakenError, BusError
 */
export async function openServers(
  options: MasterOptions,
  { as, log }: OpenServersOptions,
): Promise<Servers> {
  const releasers = new Releasers();
  const close = (): Promise<void> =>
    releasers.run().catch((err: unknown) => log.warn({ err }, 'not closed in order'));
  try {
    if (runningMaster(options) === undefined) await startBoth(options, log, releasers);
    const { nats, postgres } = options.brine;
    const url = nats.url || ownNatsUrl(options, as);
    const postgresUrl = postgres.url || ownPostgresUrl(options);
    if (url === undefined || postgresUrl === undefined) {
      throw new RefusedError(
        'the master of this host is about to start or to stop: try again in a minute',
      );
    }
    const bus = await asOwnerOf(nats.certificates, () =>
      connectBus({ ...nats, url, name: as, connectTimeoutMs: CONNECT_MS }),
    );
    releasers.add(() => bus.close());
    return { bus, postgresUrl, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function startBoth(options: MasterOptions, log: Log, releasers: Releasers): Promise<void> {
  const { stateDir } = options.brine;
  const there = <T>(work: () => Promise<T>): Promise<T> => asOwnerOf(stateDir, work);
  return there(async () => {
    await mkdir(stateDir, { recursive: true, mode: 0o711 });
    const claim = { ports: [], sockets: [], pidfile: '', stateDir, leftoverMs: LEFTOVER_MS };
    const claimed = await claimHost(claim);
    releasers.add(() => there(async () => claimed.release()));
    // A server that ends is not restarted: the command must fail.
    const nats = await openNats(options, log, false);
    releasers.add(() => there(() => nats.stop()));
    const postgres = await openPostgres(options, log, false);
    releasers.add(() => there(() => postgres.stop()));
  });
}
