import { constants } from 'node:fs';
import { chmod, lstat, mkdir, open, readdir, realpath, rmdir, stat } from 'node:fs/promises';
import { dirname, join, posix } from 'node:path';
import { isSystemError, readIfThere, removeIfThere, writeAtomic } from './files.ts';

/**
 * Files below a directory that the configuration names, by paths that a caller names. Reading
 * follows links as long as they stay below the directory; writing follows none, and refuses `..`.
 */

/** The content of a directory: names, with a map for a directory and `f` for anything else. */
export type FileTree = Map<string, FileTree | 'f'>;

/** A directory or a file is larger than the limit. */
export class TooMuchError extends Error {
  override readonly name = 'TooMuchError';
}

const CHUNK_BYTES = 64 * 1024;

const GONE = ['ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG', 'EACCES'];

/**
 * The real path of a file below a root; undefined if there is no such file, or it is elsewhere
 * (Salt: salt/utils/verify.py `clean_path`).
 */
export async function findBelow(root: string, path: string): Promise<string | undefined> {
  if (posix.isAbsolute(path) || path.includes('\0')) return undefined;
  try {
    const real = await realpath(join(root, path));
    if (!isBelow(await realpath(root), real)) return undefined;
    return (await stat(real)).isFile() ? real : undefined;
  } catch (error) {
    if (isSystemError(error, ...GONE)) return undefined;
    throw error;
  }
}

/**
 * The bytes of a file below a root, or its first `headBytes`; undefined as {@link findBelow}.
 * @throws TooMuchError if it is larger than `maxBytes` and no head is asked for
 */
export async function readBelow(
  root: string,
  path: string,
  { maxBytes, headBytes }: { readonly maxBytes: number; readonly headBytes?: number },
): Promise<Buffer | undefined> {
  const real = await findBelow(root, path);
  if (real === undefined) return undefined;
  return readFile(real, headBytes ?? maxBytes, headBytes === undefined);
}

/**
 * A file by its own path, which the operator gave; undefined if there is no such file.
 * @throws TooMuchError if it is larger
 */
export async function readBounded(path: string, maxBytes: number): Promise<Buffer | undefined> {
  try {
    return await readFile(path, maxBytes, true);
  } catch (error) {
    if (isSystemError(error, 'ENOENT', 'ENOTDIR')) return undefined;
    throw error;
  }
}

async function readFile(
  path: string,
  maxBytes: number,
  whole: boolean,
): Promise<Buffer | undefined> {
  // Opening a pipe may never end, and a device has no end.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!(await file.stat()).isFile()) return undefined;
    const chunks: Buffer[] = [];
    let size = 0;
    while (size <= maxBytes) {
      const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, maxBytes + 1 - size));
      const { bytesRead } = await file.read(chunk, 0, chunk.length);
      if (bytesRead === 0) break;
      chunks.push(chunk.subarray(0, bytesRead));
      size += bytesRead;
    }
    if (size > maxBytes && whole) {
      throw new TooMuchError(`${path} has more than ${maxBytes} bytes`);
    }
    return Buffer.concat(chunks).subarray(0, maxBytes);
  } finally {
    await file.close();
  }
}

/**
 * Everything below a root, links named but not followed; empty if there is no such directory.
 * @throws TooMuchError for more than `maxEntries`
 */
export async function treeBelow(root: string, maxEntries: number): Promise<FileTree> {
  const tree: FileTree = new Map();
  const left = [[root, tree]] as [string, FileTree][];
  let count = 0;
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const [dir, into] = next;
    for (const entry of await entriesOf(dir)) {
      count += 1;
      if (count > maxEntries) throw new TooMuchError(`${root} has more than ${maxEntries} entries`);
      const at = join(dir, entry.name);
      // As Python's os.walk: a link to a directory is a directory that is not entered.
      const isDirectory = entry.isDirectory() || (entry.isSymbolicLink() && (await isDir(at)));
      const below: FileTree = new Map();
      into.set(entry.name, isDirectory ? below : 'f');
      if (entry.isDirectory()) left.push([at, below]);
    }
  }
  return tree;
}

/** The result of writing a file. */
export type Written = 'written' | 'same' | 'refused';

/**
 * Writes a file below a root, with the directories that it needs. Refuses a path with `..`, with a
 * leading slash, through a link, or onto anything but a file.
 * @param modes of new directories and new files; an existing file keeps its own
 */
export async function writeBelow(
  root: string,
  path: string,
  content: Uint8Array | string,
  modes: { readonly dir: number; readonly file: number } = { dir: 0o755, file: 0o644 },
): Promise<Written> {
  const parts = partsOf(path);
  const name = parts?.pop();
  if (parts === undefined || name === undefined) return 'refused';
  await mkdir(root, { recursive: true, mode: modes.dir });
  let dir = root;
  for (const part of parts) {
    dir = join(dir, part);
    if (!(await isPlainDir(dir, modes.dir))) return 'refused';
  }
  const dest = join(dir, name);
  const there = await lstatIfThere(dest);
  if (there?.isFile() === false) return 'refused';
  if (there !== undefined && (await readIfThere(dest))?.equals(Buffer.from(content)) === true) {
    return 'same';
  }
  await writeAtomic(dest, content, {
    mode: there === undefined ? modes.file : there.mode & 0o777,
    // Only root may give files away.
    ...(there !== undefined && process.getuid?.() === 0 ? { owner: there } : {}),
  });
  return 'written';
}

/** Removes a file below a root; false if there is no such file, or links lead to it. */
export async function removeBelow(root: string, path: string): Promise<boolean> {
  const parts = partsOf(path);
  if (parts === undefined) return false;
  let dir = root;
  for (const part of parts.slice(0, -1)) {
    dir = join(dir, part);
    if ((await lstatIfThere(dir))?.isDirectory() !== true) return false;
  }
  return removeIfThere(join(root, ...parts));
}

/** Removes the empty directories below a root, and the root if it is empty. */
export async function removeEmptyBelow(root: string): Promise<boolean> {
  let removed = false;
  for (const entry of await entriesOf(root)) {
    if (entry.isDirectory() && (await removeEmptyBelow(join(root, entry.name)))) removed = true;
  }
  try {
    await rmdir(root);
    return true;
  } catch (error) {
    if (isSystemError(error, 'ENOTEMPTY', 'EEXIST', 'ENOENT', 'ENOTDIR')) return removed;
    throw error;
  }
}

/** Writes a file at a path that the operator gave; its directory must exist. */
export async function writeWhole(path: string, content: string, mode: number): Promise<void> {
  await stat(dirname(path));
  await writeAtomic(path, content, { mode });
  await chmod(path, mode);
}

function partsOf(path: string): string[] | undefined {
  if (path === '' || posix.isAbsolute(path) || /[\0]/.test(path)) return undefined;
  const parts = path.split('/').filter((part) => part !== '' && part !== '.');
  return parts.length === 0 || parts.includes('..') || path.endsWith('/') ? undefined : parts;
}

async function isPlainDir(path: string, mode: number): Promise<boolean> {
  const there = await lstatIfThere(path);
  if (there !== undefined) return there.isDirectory();
  try {
    await mkdir(path, { mode });
  } catch (error) {
    // Another writer was first.
    if (!isSystemError(error, 'EEXIST')) throw error;
  }
  return (await lstatIfThere(path))?.isDirectory() === true;
}

async function lstatIfThere(path: string) {
  try {
    return await lstat(path);
  } catch (error) {
    if (isSystemError(error, 'ENOENT', 'ENOTDIR')) return undefined;
    throw error;
  }
}

async function entriesOf(dir: string) {
  try {
    const entries = await readdir(dir, { withFileTypes: true });
    return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch (error) {
    if (isSystemError(error, ...GONE)) return [];
    throw error;
  }
}

async function isDir(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (error) {
    if (isSystemError(error, ...GONE)) return false;
    throw error;
  }
}

function isBelow(root: string, path: string): boolean {
  return path === root || root === '/' || path.startsWith(`${root}/`);
}
