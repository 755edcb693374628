import { ArchiveWriter, type Write } from './archive-writer.ts';
import { BackupError } from './backup-error.ts';
import type { BackupKey } from './backup-key.ts';
import type { BackupSource } from './edge/live-source.ts';
import { filePart, type FileRecord } from './file-records.ts';
import { toLines } from './json-lines.ts';
import {
  type BackupHead,
  FORMAT,
  HEAD,
  MAC,
  MANIFEST,
  type Manifest,
  type StreamRecord,
} from './manifest.ts';

/** Identifies the master and the backup. */
export type BackupAbout = Omit<BackupHead, 'format' | 'mark'>;

/** Further inputs of a backup. */
export interface BackupWay {
  readonly write: Write;
  /** Proves which host made it. */
  readonly key: BackupKey;
  /** Unix ms. */
  readonly now: () => number;
  /** Called with the part that is read now, as `streams/EVENTS`. */
  readonly onPart?: (name: string) => void;
}

/**
 * Writes a backup while the master runs. The order makes it complete: first positions of readers,
 * then streams, then PostgreSQL. Every acknowledged message is in a stream or already in
 * PostgreSQL; one that is in both is delivered again and stored once.
 * @throws BackupError, and errors of the source and of `write`: the file is then useless
 */
export async function makeBackup(
  source: BackupSource,
  about: BackupAbout,
  { write, key, now, onPart = () => undefined }: BackupWay,
): Promise<Manifest> {
  const markMs = now();
  const archive = new ArchiveWriter(write, new Date(markMs));
  try {
    const head: BackupHead = { ...about, format: FORMAT, mark: new Date(markMs).toISOString() };
    await archive.entry(HEAD, json(head));
    onPart('files');
    const files = await writeFiles(archive, source);
    const readers = await source.readers();
    const streams = await writeStreams(archive, source, onPart);
    const { database, lastJid, usedSequences } = await writeTables(archive, source, onPart);
    const manifest: Manifest = {
      ...head,
      endedAt: new Date(now()).toISOString(),
      lastJid,
      usedSequences,
      files,
      streams,
      readers,
      database,
      parts: archive.parts,
    };
    const bytes = json(manifest);
    await archive.entry(MANIFEST, bytes);
    await archive.entry(MAC, Buffer.from(key.macOf(bytes), 'latin1'));
    await archive.end();
    return manifest;
  } catch (error) {
    archive.abort(error);
    throw error;
  }
}

async function writeFiles(archive: ArchiveWriter, source: BackupSource): Promise<FileRecord[]> {
  const files: FileRecord[] = [];
  const seen = new Set<string>();
  for await (const { record, data } of source.files()) {
    const name = filePart(record);
    if (seen.has(name)) continue;
    seen.add(name);
    await archive.file(name, data);
    files.push(record);
  }
  return files;
}

async function writeStreams(
  archive: ArchiveWriter,
  source: BackupSource,
  onPart: (name: string) => void,
): Promise<StreamRecord[]> {
  const streams: StreamRecord[] = [];
  for (const name of source.streams) {
    onPart(`streams/${name}`);
    const content = await source.stream(name);
    if (content === undefined) continue;
    const { messages, bytes, config, state } = content;
    if ('chunks' in content) await archive.part(`streams/${name}`, content.chunks);
    else await archive.part(`values/${name}`, toLines(content.values));
    streams.push({ name, messages, bytes, config, state });
  }
  if (streams.length === 0) {
    throw new BackupError('NATS has no streams of a master: start the master once');
  }
  return streams;
}

async function writeTables(
  archive: ArchiveWriter,
  source: BackupSource,
  onPart: (name: string) => void,
): Promise<Pick<Manifest, 'database' | 'lastJid' | 'usedSequences'>> {
  const tables = await source.tables();
  try {
    // The rows of this snapshot refer to no later message.
    const usedSequences = await source.lastSequences();
    for (const table of tables.head.tables) {
      onPart(`tables/${table.name}`);
      await archive.part(`tables/${table.name}`, tables.table(table));
    }
    const database = { head: tables.head, sequences: await tables.sequences() };
    return { database, lastJid: tables.head.lastJid, usedSequences };
  } finally {
    await tables.close();
  }
}

function json(value: object): Buffer {
  return Buffer.from(JSON.stringify(value), 'utf8');
}
