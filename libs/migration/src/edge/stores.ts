import { type Bus, BusError, ensureStreams, waitForStreams } from '@brine/bus';
import type { MasterOptions } from '@brine/config';
import { asOwnerOf } from '@brine/files';
import { JobCache } from '@brine/job-cache';
import { openServers } from '@brine/master-host/servers';
import { MovedState } from '@brine/master-state';
import { keyDirs, loadOrCreateMasterKeys, masterKeyOptions } from '@brine/pki';
import type { Log } from '@brine/telemetry';

/** Time to wait for streams that another process has made, in ms. */
const STREAMS_MS = 1_000;

/** The stores of Brine, opened for a migration. */
export interface BrineStores {
  readonly state: MovedState;
  readonly jobs: JobCache;
  /** Stops the servers that were started. Never rejects. */
  close(): Promise<void>;
}

/**
 * Opens the stores of Brine, with its streams and the master's key.
 * @throws RefusedError, HostTakenError, BusError, JobCacheError
 */
export async function openStores(options: MasterOptions, log: Log): Promise<BrineStores> {
  // The user `event-bus` owns the streams: it may make them, and write every bucket.
  const servers = await openServers(options, { as: 'event-bus', log });
  try {
    const { pkiDir, keysize } = options;
    const keys = await asOwnerOf([...keyDirs(pkiDir), options.ownPkiDir], () =>
      loadOrCreateMasterKeys(pkiDir, keysize, masterKeyOptions(options)),
    );
    await makeStreams(servers.bus, options);
    const jobs = await JobCache.connect(servers.postgresUrl);
    const close = async (): Promise<void> => {
      await jobs.close().catch((err: unknown) => log.warn({ err }, 'not closed in order'));
      await servers.close();
    };
    return { state: new MovedState(servers.bus, keys.privateKey), jobs, close };
  } catch (error) {
    await servers.close();
    throw error;
  }
}

/** Keeps existing streams: the master made them with its own limits. */
async function makeStreams(bus: Bus, { brine }: MasterOptions): Promise<void> {
  try {
    await waitForStreams(bus, { timeoutMs: STREAMS_MS });
  } catch (error) {
    if (!(error instanceof BusError) || error.code !== 'BUS_STREAM_AWAY') throw error;
    const { streamBytes, streamReplicas: replicas } = brine;
    await ensureStreams(bus, { replicas, ...(streamBytes > 0 ? { totalBytes: streamBytes } : {}) });
  }
}
