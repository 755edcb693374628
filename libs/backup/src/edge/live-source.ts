import { type Bus } from '@brine/bus';
import {
  isCopiedByValue,
  KEPT_STREAMS,
  lastSequences,
  readerPlaces,
  type StoredValue,
  storedValues,
  takeSnapshot,
} from '@brine/bus/snapshots';
import type { MasterOptions } from '@brine/config';
import { CopyOut } from '@brine/job-cache';
import type { Servers } from '@brine/master-host/servers';
import { BackupError } from '../backup-error.ts';
import type { Json, StreamRecord } from '../manifest.ts';
import { hostFiles } from './host-files.ts';

/** A stream as it comes: a snapshot of the server, or one value after the other. */
type StreamContent = Omit<StreamRecord, 'name'> &
  ({ readonly chunks: AsyncIterable<Uint8Array> } | { readonly values: AsyncIterable<Json> });

/** What a backup is made of. */
export type BackupSource = ReturnType<typeof liveSource>;

/** What a master has, read while it goes on. */
export function liveSource(
  options: MasterOptions,
  { bus, postgresUrl }: Pick<Servers, 'bus' | 'postgresUrl'>,
) {
  return {
    /** In the order in which they are read. */
    streams: KEPT_STREAMS,
    files: () => hostFiles(options),
    readers: () => readerPlaces(bus),
    /** Undefined where there is no such stream. */
    stream: (name: string): Promise<StreamContent | undefined> =>
      isCopiedByValue(name) ? valuesOf(bus, name) : takeSnapshot(bus, name),
    /** The highest sequence of each stream whose sequences others keep. */
    lastSequences: () => lastSequences(bus),
    /** PostgreSQL as it is at one moment: opened when all streams are read. */
    tables: () => openTables(postgresUrl),
  };
}

async function openTables(
  url: string,
): Promise<Pick<CopyOut, 'head' | 'table' | 'sequences' | 'close'>> {
  const out = await CopyOut.open(url);
  if (out !== undefined) return out;
  throw new BackupError('PostgreSQL has no tables of a master: start the master once');
}

async function valuesOf(bus: Bus, name: string): Promise<StreamContent | undefined> {
  const stored = await storedValues(bus, name);
  return stored && { ...stored, state: {}, values: asJson(stored.values) };
}

async function* asJson(values: AsyncIterable<StoredValue>): AsyncGenerator<Json, void> {
  for await (const { subject, headers, data } of values) {
    yield { subject, headers, data: Buffer.from(data).toString('base64') };
  }
}
