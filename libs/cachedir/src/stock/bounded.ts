import { constants } from 'node:fs';
import { open, readdir, stat } from 'node:fs/promises';
import { ifThere } from '@brine/files';
import { errorText } from '@brine/tasks';
import { type SaltValue, unpack } from '@brine/wire';

/** A file that could not be taken, and why; for the report of a migration. */
export interface PassedOver {
  readonly path: string;
  readonly why: string;
}

/** The content of a file, and when it was written. */
export interface StockFile {
  readonly value: SaltValue;
  /** Unix ms. */
  readonly timeMs: number;
}

/** The names in a directory; none where there is no directory. */
export async function namesIn(dir: string): Promise<readonly string[]> {
  return (await ifThere(readdir(dir))) ?? [];
}

/** When a file or directory changed last, unix ms; -Infinity where there is none. */
export async function changedMs(path: string): Promise<number> {
  return (await ifThere(stat(path)))?.mtimeMs ?? -Infinity;
}

/**
 * The bytes of a plain file of at most `maxBytes`, with its time. Undefined where there is none:
 * the master that owns it may run, and removes files.
 * @throws RangeError for one that is larger or no plain file
 */
export async function readAtMost(
  path: string,
  maxBytes: number,
): Promise<{ readonly bytes: Buffer; readonly timeMs: number } | undefined> {
  // A pipe would block the reader for ever.
  const file = await ifThere(open(path, constants.O_RDONLY | constants.O_NONBLOCK));
  if (file === undefined) return undefined;
  try {
    const { size, mtimeMs, ...kind } = await file.stat();
    if ((kind.mode & 0o170_000) !== 0o100_000) throw new RangeError('no plain file');
    if (size > maxBytes) throw new RangeError(`${size} bytes, more than ${maxBytes}`);
    return { bytes: await file.readFile(), timeMs: mtimeMs };
  } finally {
    await file.close();
  }
}

/**
 * The value in a file of msgpack. Undefined if it is missing; a bad file goes to `onPassed`.
 * @throws as the file system does, for what is no fault of this file
 */
export async function readPacked(
  path: string,
  maxBytes: number,
  onPassed: (passed: PassedOver) => void,
): Promise<StockFile | undefined> {
  try {
    const found = await readAtMost(path, maxBytes);
    return found && { value: unpack(found.bytes), timeMs: found.timeMs };
  } catch (error) {
    if (error instanceof Error && 'syscall' in error) throw error;
    onPassed({ path, why: errorText(error) });
    return undefined;
  }
}
