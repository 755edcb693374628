import type { Bus } from '@brine/bus';
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
import type { Json } from '../manifest.ts';
import type { BackupSource, StreamContent, TablesSource } from '../ports.ts';
import { hostFiles } from './host-files.ts';

/** What a master has, read while it goes on. */
export function liveSource(
  options: MasterOptions,
  { bus, postgresUrl }: Pick<Servers, 'bus' | 'postgresUrl'>,
): BackupSource {
  return {
    streams: KEPT_STREAMS,
    files: () => hostFiles(options),
    readers: () => readerPlaces(bus),
    stream: (name) => (isCopiedByValue(name) ? valuesOf(bus, name) : takeSnapshot(bus, name)),
    lastSequences: () => lastSequences(bus),
    async tables(): Promise<TablesSource> {
      const out = await CopyOut.open(postgresUrl);
      if (out === undefined) {
        throw new BackupError('PostgreSQL has no tables of a master: start the master once');
      }
      const { head } = out;
      return {
        head: { ...head },
        lastJid: head.lastJid,
        table: (table) => out.table(table),
        sequences: () => out.sequences(),
        close: () => out.close(),
      };
    },
  };
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
