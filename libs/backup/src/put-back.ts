import { type Entry, readEntries, type ReadPart, readParts } from './archive-reader.ts';
import { BackupError } from './backup-error.ts';
import { fromLines } from './json-lines.ts';
import { filePart, HEAD, MANIFEST, type Manifest } from './manifest.ts';
import type { BackupTarget, TablesTarget } from './ports.ts';

/** The part that PostgreSQL is, as a step of a run. */
const TABLES = 'tables';

/**
 * Puts a checked backup back, in the order of the file: files, streams, tables. A run that was
 * killed is done again: parts that are done are left out.
 * @param onPart called with what is put back now
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
  for await (const part of readParts(withoutFrame(readEntries(bytes)))) {
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
  await tables.end();
  onPart('readers');
  await target.useSequences(manifest.usedSequences);
  await target.readers(manifest.readers);
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

  /** Tables without rows have no part: the schema is made all the same. */
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

/** What is between the head and the manifest. */
async function* withoutFrame(entries: AsyncIterable<Entry>): AsyncGenerator<Entry, void> {
  for await (const entry of entries) {
    if (entry.name !== HEAD && entry.name !== MANIFEST) yield entry;
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
