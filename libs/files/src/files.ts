import { randomBytes } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { link, open, readdir, rename, stat, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** True when `error` is a system error with one of these codes. */
export function isSystemError(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code));
}

/**
 * The result of work on a path, such as `stat` or `readdir`; undefined if there is no such path.
 * @throws as the work does, for other reasons
 */
export async function ifThere<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (isSystemError(error, 'ENOENT', 'ENOTDIR')) return undefined;
    throw error;
  }
}

/** Opening a pipe, or reading a device, may never end. */
const AT_ONCE = constants.O_RDONLY | constants.O_NONBLOCK;

/**
 * The bytes of a file, or undefined if there is no such file.
 * @throws as the file system does; EINVAL for a pipe or a device, whose bytes may have no end
 */
export async function readIfThere(path: string): Promise<Buffer | undefined> {
  try {
    const file = await open(path, AT_ONCE);
    try {
      const found = await file.stat();
      if (!found.isFile() && !found.isDirectory()) throw noFile(path);
      return await file.readFile();
    } finally {
      await file.close();
    }
  } catch (error) {
    if (isSystemError(error, 'ENOENT', 'ENOTDIR')) return undefined;
    throw error;
  }
}

/** As {@link readIfThere}, as UTF-8 and without leaving the current turn of the event loop. */
export function textNowIfThere(path: string): string | undefined {
  try {
    const file = openSync(path, AT_ONCE);
    try {
      if (!fstatSync(file).isFile()) throw noFile(path);
      return readFileSync(file, 'utf8');
    } finally {
      closeSync(file);
    }
  } catch (error) {
    if (isSystemError(error, 'ENOENT', 'ENOTDIR')) return undefined;
    throw error;
  }
}

function noFile(path: string): Error {
  return Object.assign(new Error(`EINVAL: ${path} is no plain file`), { code: 'EINVAL', path });
}

/** As {@link readIfThere}, as UTF-8. */
export async function textIfThere(path: string): Promise<string | undefined> {
  return (await readIfThere(path))?.toString('utf8');
}

/** Removes a file; false if there was no such file. */
export async function removeIfThere(path: string): Promise<boolean> {
  try {
    await unlink(path);
    return true;
  } catch (error) {
    if (isSystemError(error, 'ENOENT', 'ENOTDIR')) return false;
    throw error;
  }
}

/** The user and group of a file. */
export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** The properties of a file to write. */
interface FileKind {
  readonly mode: number;
  /** Default: the user that this process runs as. */
  readonly owner?: Owner | undefined;
  /** False: the file may be lost or empty after a power cut; for files that can be made again. */
  readonly synced?: boolean;
  /**
   * A directory of the same file system for the draft; default beside the file. For directories
   * that programs list.
   */
  readonly draftsIn?: string;
}

/** Writes a file so that a reader sees the old content or the new one, never a part. */
export async function writeAtomic(
  path: string,
  content: Uint8Array | string,
  kind: FileKind,
): Promise<void> {
  const draft = await writeDraft(path, content, kind);
  try {
    await rename(draft, path);
  } catch (error) {
    await removeIfThere(draft);
    throw error;
  }
}

/**
 * As {@link writeAtomic}, if there is no such file yet. False if another process was first; its
 * file stays as it is.
 */
export async function writeNew(
  path: string,
  content: Uint8Array | string,
  kind: FileKind,
): Promise<boolean> {
  const draft = await writeDraft(path, content, kind);
  try {
    // link(2) fails if the name exists; rename(2) would replace it.
    await link(draft, path);
    return true;
  } catch (error) {
    if (isSystemError(error, 'EEXIST')) return false;
    throw error;
  } finally {
    await removeIfThere(draft);
  }
}

/** A draft that was not given its name within this time is of a process that was killed, in ms. */
const DRAFT_LIFE_MS = 60_000;
const DRAFT_NAME = /^\.\d+-[0-9a-f]{12}\.new$/;

/**
 * Removes the drafts that killed writers left in a directory, if there is such a directory. It goes
 * by their age: a directory may be shared by hosts, where a pid means nothing.
 * @throws as the file system does
 */
export async function removeOldDrafts(dir: string): Promise<void> {
  for (const name of (await ifThere(readdir(dir))) ?? []) {
    if (!DRAFT_NAME.test(name)) continue;
    const path = join(dir, name);
    const found = await ifThere(stat(path));
    if (found && Date.now() - found.mtimeMs > DRAFT_LIFE_MS) await removeIfThere(path);
  }
}

/**
 * Writes a whole file beside its place; returns its path. Its name begins with a dot: key listings
 * leave out such files, as Salt does.
 */
async function writeDraft(
  path: string,
  content: Uint8Array | string,
  { mode, owner, synced = true, draftsIn = dirname(path) }: FileKind,
): Promise<string> {
  const draft = join(draftsIn, `.${process.pid}-${randomBytes(6).toString('hex')}.new`);
  const file = await open(draft, 'wx', mode);
  try {
    await file.writeFile(content);
    await file.chmod(mode);
    if (owner) await file.chown(owner.uid, owner.gid);
    if (synced) await file.sync();
    await file.close();
    return draft;
  } catch (error) {
    await file.close();
    await removeIfThere(draft);
    throw error;
  }
}
