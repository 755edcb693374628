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

/** Content of a stream: a snapshot of the server, or its values one after the other. */
type StreamContent = Omit<StreamRecord, 'name'> &
  ({ readonly chunks: AsyncIterable<Uint8Array> } | { readonly values: AsyncIterable<Json> });

/** The data that a backup is made from. */
export type BackupSource = ReturnType<typeof liveSource>;

/** Reads the data of a master while it runs. */
export function liveSource(
  options: MasterOptions,
  { bus, postgresUrl }: Pick<Servers, 'bus' | 'postgresUrl'>,
) {
  return {
    /** In the order in which they are read. */
    streams: KEPT_STREAMS,
    files: () => hostFiles(options),
    readers: () => readerPlaces(bus),
    /** Undefined if the stream is missing. */
    stream: (name: string): Promise<StreamContent | undefined> =>
      isCopiedByValue(name) ? valuesOf(bus, name) : takeSnapshot(bus, name),
    /** The last sequence of each stream whose sequences are stored elsewhere. */
    lastSequences: () => lastSequences(bus),
    /** A consistent snapshot of PostgreSQL, opened after all streams are read. */
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
