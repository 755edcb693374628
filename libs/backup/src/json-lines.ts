import { BackupError } from './backup-error.ts';
import type { Json } from './manifest.ts';

const LINE_MAX = 32 * 1024 * 1024;

/** One JSON text per line. */
export async function* toLines(values: AsyncIterable<Json>): AsyncGenerator<Buffer, void> {
  for await (const value of values) yield Buffer.from(`${JSON.stringify(value)}\n`, 'utf8');
}

/** Parses lines that arrive in chunks. @throws BackupError for a line that is not JSON */
export async function* fromLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<Json, void> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of chunks) {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    for (let end = rest.indexOf(0x0a); end >= 0; end = rest.indexOf(0x0a)) {
      yield read(rest.subarray(0, end));
      rest = rest.subarray(end + 1);
    }
    if (rest.length > LINE_MAX) throw new BackupError('it has a line that is too long');
  }
  if (rest.length > 0) throw new BackupError('it has half a line');
}

function read(line: Buffer): Json {
  try {
    return JSON.parse(line.toString('utf8')) as Json;
  } catch (error) {
    throw new BackupError('it has a line that is damaged', { cause: error });
  }
}
