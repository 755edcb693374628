import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  type Stats,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { isSystemError } from '@brine/files';

// A link leads out of the directory, and opening a pipe blocks for ever.
const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Codes of what is no plain file: nothing, a link, a socket or device. */
const NO_FILE = ['ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO'] as const;

/** The largest key that OpenSSL reads has some 6 KB. */
const MAX_BYTES = 1024 * 1024;

/** Whether there is a plain file. A link to one does not count. */
export function isPlainFile(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

/** The text of a plain file; undefined where there is none, something else, or too much. */
export async function readPlainFile(path: string): Promise<string | undefined> {
  try {
    const file = await open(path, FLAGS);
    try {
      return mayBeKey(await file.stat()) ? await file.readFile('utf8') : undefined;
    } finally {
      await file.close();
    }
  } catch (error) {
    if (isSystemError(error, ...NO_FILE)) return undefined;
    throw error;
  }
}

/** As {@link readPlainFile}, at once. */
export function readPlainFileSync(path: string): string | undefined {
  try {
    const file = openSync(path, FLAGS);
    try {
      return mayBeKey(fstatSync(file)) ? readFileSync(file, 'utf8') : undefined;
    } finally {
      closeSync(file);
    }
  } catch (error) {
    if (isSystemError(error, ...NO_FILE)) return undefined;
    throw error;
  }
}

function mayBeKey(found: Stats): boolean {
  return found.isFile() && found.size <= MAX_BYTES;
}
