import { closeSync, constants, fchownSync, fstatSync, openSync } from 'node:fs';
import { lchown, lstat, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isSystemError, type Owner } from './files.ts';

/** The new owner of files. */
export interface NewOwner extends Owner {
  /** Files of one of these groups stay as they are. */
  readonly keepGroups?: ReadonlySet<number>;
}

/** A file as the walk sees it. */
interface Seen {
  /** The path through its open directory, which no rename can change. */
  readonly at: string;
  /** Its path as the caller knows it. */
  readonly path: string;
}

/** Opening a pipe or the like must not block this process. */
const PLAIN = constants.O_NOFOLLOW | constants.O_NONBLOCK;
const DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/**
 * Gives a file to a user. Root may call it where others can write: a link, anything but a file, and
 * a file with a second name elsewhere keep their owners. False for those.
 * @param make makes a missing file with this mode; an existing file keeps its content
 * @throws as the file system does
 */
export function giveFile(path: string, { uid, gid }: Owner, make?: number): boolean {
  let fd: number;
  try {
    const flags = make === undefined ? constants.O_RDONLY : constants.O_WRONLY | constants.O_CREAT;
    fd = openSync(path, flags | PLAIN, make);
  } catch (error) {
    if (isSystemError(error, 'ELOOP')) return false;
    throw error;
  }
  try {
    const found = fstatSync(fd);
    if (!found.isFile() || found.nlink > 1) return false;
    fchownSync(fd, uid, gid);
    return true;
  } finally {
    closeSync(fd);
  }
}

/**
 * Gives a directory and all in it to a user; links are given themselves. Files that disappear
 * meanwhile are no error. Users who may write there can not redirect this: directories are kept
 * open, and a file with a second name elsewhere keeps its owner.
 * @param except paths that keep their owners, with all in them
 */
export async function giveTree(
  path: string,
  owner: NewOwner,
  except: ReadonlySet<string> = new Set(),
): Promise<void> {
  await giveOne({ at: path, path }, owner, except);
}

async function giveOne(seen: Seen, owner: NewOwner, except: ReadonlySet<string>): Promise<void> {
  const { at, path } = seen;
  if (except.has(path)) return;
  try {
    const found = await lstat(at);
    if (found.isFile() && found.nlink > 1) return;
    const { uid, gid, keepGroups } = owner;
    const isGiven = found.uid === uid && found.gid === gid;
    if (!isGiven && keepGroups?.has(found.gid) !== true) await lchown(at, uid, gid);
    if (found.isDirectory()) await giveBelow(seen, owner, except);
  } catch (error) {
    // Gone, or a link by now.
    if (!isSystemError(error, 'ENOENT', 'ENOTDIR', 'ELOOP')) throw error;
  }
}

async function giveBelow(
  { at, path }: Seen,
  owner: NewOwner,
  except: ReadonlySet<string>,
): Promise<void> {
  const taken = await open(at, DIRECTORY);
  try {
    const here = process.platform === 'linux' ? `/proc/self/fd/${taken.fd}` : at;
    for (const name of await readdir(here)) {
      await giveOne({ at: join(here, name), path: join(path, name) }, owner, except);
    }
  } finally {
    await taken.close();
  }
}
