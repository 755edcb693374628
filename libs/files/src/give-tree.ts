import { closeSync, constants, fchownSync, fstatSync, openSync } from 'node:fs';
import { lchown, lstat, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isSystemError, type Owner } from './files.ts';

/** Whom files are given to. */
export interface NewOwner extends Owner {
  /** What belongs to one of these groups stays as it is. */
  readonly keepGroups?: ReadonlySet<number>;
}

/** A file as the walk sees it. */
interface Seen {
  /** Where it is reached: by its directory that is open, which no rename can change. */
  readonly at: string;
  /** Its path as the caller knows it. */
  readonly path: string;
}

/** What is no plain file, as a pipe, must not hold this process up. */
const PLAIN = constants.O_NOFOLLOW | constants.O_NONBLOCK;
const DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/**
 * Gives a file to a user, which root may do where others can write: a link, what is no file, and a
 * file with a second name elsewhere keep their owners. False for those.
 * @param make makes the file with this mode where there is none; what is there keeps its content
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
 * Gives a directory and all in it to a user; links are given themselves. What goes away meanwhile
 * is no error. Who may write there already can not lead this elsewhere: directories are held open,
 * and a file that has a second name elsewhere keeps its owner.
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
