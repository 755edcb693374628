import type { FileRecord } from './file-records.ts';
import type { Json, Manifest, ReaderRecord, StreamRecord } from './manifest.ts';

/** A file of the host with its content; a link has none. */
export interface HostFile {
  readonly record: FileRecord;
  readonly data: Uint8Array;
}

/** A stream as it comes: a snapshot of the server, or one value after the other. */
export type StreamContent = Omit<StreamRecord, 'name'> &
  ({ readonly chunks: AsyncIterable<Uint8Array> } | { readonly values: AsyncIterable<Json> });

/** PostgreSQL as it is at one moment. */
export interface TablesSource {
  readonly head: Manifest['database']['head'];
  readonly lastJid: string;
  table(table: Manifest['database']['head']['tables'][number]): AsyncIterable<Uint8Array>;
  sequences(): Promise<Manifest['database']['sequences']>;
  close(): Promise<void>;
}

/** What a backup is made of. */
export interface BackupSource {
  /** Streams in the order in which they are read. */
  readonly streams: readonly string[];
  files(): AsyncIterable<HostFile>;
  readers(): Promise<readonly ReaderRecord[]>;
  /** Undefined where there is no such stream. */
  stream(name: string): Promise<StreamContent | undefined>;
  /** The highest sequence of each stream whose sequences others keep. */
  lastSequences(): Promise<Readonly<Record<string, number>>>;
  /** Opened when all streams are read. */
  tables(): Promise<TablesSource>;
}

/** Where a backup is put back; empty, or with parts of this backup in it. */
export interface BackupTarget {
  /** Parts that an earlier run has put back. */
  readonly done: ReadonlySet<string>;
  /** Remembers a part, so that the next run leaves it out. */
  finished(part: string): Promise<void>;
  file(record: FileRecord, data: Uint8Array): Promise<void>;
  /** Puts a stream back; what an earlier run left of it goes before that. */
  stream(record: StreamRecord, chunks: AsyncIterable<Uint8Array>): Promise<void>;
  /** As {@link stream}, of one that was read value by value. */
  values(record: StreamRecord, values: AsyncIterable<Json>): Promise<void>;
  /** Opened when the first table comes; undefined where an earlier run has committed. */
  tables(head: Manifest['database']['head']): Promise<TablesTarget | undefined>;
  /** After all streams: uses up sequences, makes readers. May be done twice. */
  useSequences(used: Manifest['usedSequences']): Promise<void>;
  readers(readers: readonly ReaderRecord[]): Promise<void>;
}

/** Tables that are put back in one transaction. */
export interface TablesTarget {
  table(
    table: Manifest['database']['head']['tables'][number],
    chunks: AsyncIterable<Uint8Array>,
  ): Promise<void>;
  commit(sequences: Manifest['database']['sequences']): Promise<void>;
}
