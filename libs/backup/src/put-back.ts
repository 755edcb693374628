import { createHash } from 'node:crypto';
import { type Entry, readEntries, type ReadPart, readParts } from './archive-reader.ts';
import { BackupError } from './backup-error.ts';
import type { BackupTarget, TablesTarget } from './edge/restore-target.ts';
import { filePart } from './file-records.ts';
import { fromLines } from './json-lines.ts';
import { HEAD, MAC, MANIFEST, type Manifest, type PartRecord } from './manifest.ts';

/** Name of the PostgreSQL step in the progress of a run. */
const TABLES = 'tables';

/**
 * Restores a checked backup in the order of the file: files, streams, tables. After a kill the
 * command can run again: it skips finished parts.
 * @param onPart called with the part that is restored now
 * @throws BackupError where the file is no longer the one that was checked; what the target throws
 */
export async function putBack(
  bytes: AsyncIterable<Uint8Array>,
  manifest: Manifest,
  target: BackupTarget,
  onPart: (name: string) => void = () => undefined,
): Promise<void> {
  const known = new Map(manifest.files.map((record) => [filePart(record), record]));
  const streams = new Map(manifest.streams.map((record) => [record.name, record]));
  const tables = new PutTables(manifest, target);
  const parts = new CheckedParts(manifest.parts);
  for await (const read of readParts(withoutFrame(readEntries(bytes)))) {
    const part = parts.taken(read);
    onPart(part.name);
    const { kind, name } = kindOf(part);
    if (kind === 'files') {
      await target.file(found(known, part.name), await wholeOf(part));
    } else if (kind === 'tables') {
      await tables.take(name, part.chunks);
    } else if (!target.done.has(part.name)) {
      const record = found(streams, name);
      if (kind === 'streams') await target.stream(record, part.chunks);
      else await target.values(record, fromLines(part.chunks));
      await target.finished(part.name);
    }
  }
  parts.assertAll();
  await tables.end();
  onPart('readers');
  await target.useSequences(manifest.usedSequences);
  await target.readers(manifest.readers);
}

/**
 * Compares parts with their checked hashes, because the file may change between both readings. The
 * last piece of a part is passed on only if the hash matches.
 */
class CheckedParts {
  readonly #left: Map<string, PartRecord>;

  constructor(parts: readonly PartRecord[]) {
    this.#left = new Map(parts.map((part) => [part.name, part]));
  }

  taken({ name, chunks }: ReadPart): ReadPart {
    const record = found(this.#left, name);
    this.#left.delete(name);
    return { name, chunks: checked(record, chunks) };
  }

  /** Checks that no part is missing. Empty parts have no entry. */
  assertAll(): void {
    for (const { name, bytes } of this.#left.values()) if (bytes > 0) throw changed(name);
  }
}

async function* checked(
  { name, bytes, sha256 }: PartRecord,
  chunks: AsyncIterable<Buffer>,
): AsyncGenerator<Buffer, void> {
  const hash = createHash('sha256');
  let size = 0;
  let last: Buffer | undefined;
  for await (const chunk of chunks) {
    hash.update(chunk);
    size += chunk.length;
    if (size > bytes) throw changed(name);
    if (last !== undefined) yield last;
    last = chunk;
  }
  if (size !== bytes || hash.digest('hex') !== sha256) throw changed(name);
  if (last !== undefined) yield last;
}

/** All tables come one after the other, in one transaction. */
class PutTables {
  readonly #manifest: Manifest;
  readonly #target: BackupTarget;
  #opened: { readonly into: TablesTarget | undefined } | undefined;

  constructor(manifest: Manifest, target: BackupTarget) {
    this.#manifest = manifest;
    this.#target = target;
  }

  async take(name: string, chunks: AsyncIterable<Buffer>): Promise<void> {
    const into = await this.#open();
    const table = this.#manifest.database.head.tables.find((one) => one.name === name);
    if (table === undefined) throw changed(name);
    await into?.table(table, chunks);
  }

  /** Makes the schema also when no table has rows, and so no part. */
  async end(): Promise<void> {
    const into = await this.#open();
    await into?.commit(this.#manifest.database.sequences);
    if (!this.#target.done.has(TABLES)) await this.#target.finished(TABLES);
  }

  async #open(): Promise<TablesTarget | undefined> {
    if (this.#opened !== undefined) return this.#opened.into;
    const isDone = this.#target.done.has(TABLES);
    const into = isDone ? undefined : await this.#target.tables(this.#manifest.database.head);
    this.#opened = { into };
    return into;
  }
}

type Kind = 'files' | 'streams' | 'values' | 'tables';
const KINDS: readonly Kind[] = ['files', 'streams', 'values', 'tables'];

function kindOf({ name }: ReadPart): { readonly kind: Kind; readonly name: string } {
  const at = name.indexOf('/');
  const kind = KINDS.find((one) => one === name.slice(0, at));
  if (kind === undefined) throw changed(name);
  return { kind, name: name.slice(at + 1) };
}

const FRAME: ReadonlySet<string> = new Set([HEAD, MANIFEST, MAC]);

/** The entries between the head and the manifest. */
async function* withoutFrame(entries: AsyncIterable<Entry>): AsyncGenerator<Entry, void> {
  for await (const entry of entries) {
    if (!FRAME.has(entry.name)) yield entry;
  }
}

async function wholeOf({ chunks }: ReadPart): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of chunks) pieces.push(piece);
  return Buffer.concat(pieces);
}

function found<T>(records: ReadonlyMap<string, T>, name: string): T {
  const record = records.get(name);
  if (record === undefined) throw changed(name);
  return record;
}

function changed(name: string): BackupError {
  return new BackupError(`the file changed while it was read: ${name}`);
}
