import { errorText } from '@brine/tasks';
import { createTarDecoder } from 'modern-tar';
import { BackupError } from './backup-error.ts';
import { MANIFEST, partOf } from './manifest.ts';

const UNSEEN = /\p{Cc}/u;

/** One entry of an archive. */
export interface Entry {
  readonly name: string;
  readonly data: Buffer;
}

/** The manifest takes about 250 bytes for each minion key. */
const MANIFEST_MAX = 128 * 1024 * 1024;
/** Any other entry is a file of the host, or a piece of 1 MiB. */
const ENTRY_MAX = 16 * 1024 * 1024;

/**
 * The entries of an archive, in order.
 * @throws BackupError if it is damaged or truncated
 */
export async function* readEntries(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Entry, void> {
  const tar = createTarDecoder({ strict: true });
  const fed = feed(bytes, tar.writable.getWriter());
  // A failure of the source also fails the entries.
  fed.catch(() => undefined);
  try {
    for await (const { header, body } of tar.readable) {
      const { name, size, type = 'file' } = header;
      if (UNSEEN.test(name)) throw new BackupError('an entry has a name that can not be seen');
      if (type !== 'file') throw new BackupError(`${name} is no file but a ${type}`);
      if (size > (name === MANIFEST ? MANIFEST_MAX : ENTRY_MAX)) {
        throw new BackupError(`${name} is too large`);
      }
      const chunks: Uint8Array[] = [];
      for await (const chunk of body) chunks.push(chunk);
      yield { name, data: Buffer.concat(chunks) };
    }
    await fed;
  } catch (error) {
    if (error instanceof BackupError || isOfSystem(error)) throw error;
    throw new BackupError(`it is damaged or cut off (${errorText(error)})`, { cause: error });
  }
}

async function feed(
  bytes: AsyncIterable<Uint8Array>,
  writer: WritableStreamDefaultWriter<Uint8Array>,
): Promise<void> {
  try {
    for await (const chunk of bytes) await writer.write(chunk);
    await writer.close();
  } catch (error) {
    await writer.abort(error).catch(() => undefined); // The reader has this error already.
    throw error;
  }
}

/** The pieces of one part, in order; pieces that the caller does not read are skipped. */
export interface ReadPart {
  readonly name: string;
  readonly chunks: AsyncIterable<Buffer>;
}

/** Groups consecutive entries into parts. Throws as its source. */
export async function* readParts(entries: AsyncIterable<Entry>): AsyncGenerator<ReadPart, void> {
  const source = entries[Symbol.asyncIterator]();
  let next = await source.next();
  try {
    while (next.done !== true) {
      const name = partOf(next.value.name);
      const isOfPart = (): boolean => next.done !== true && partOf(next.value.name) === name;
      const pieces = async function* (): AsyncGenerator<Buffer, void> {
        while (next.done !== true && isOfPart()) {
          yield next.value.data;
          next = await source.next();
        }
      };
      yield { name, chunks: pieces() };
      while (isOfPart()) next = await source.next();
    }
  } finally {
    await source.return?.();
  }
}

/** True for an error of the disk, which is rethrown unchanged. */
function isOfSystem(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error;
}
