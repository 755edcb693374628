import { AsyncLocalStorage } from 'node:async_hooks';
import { lstatSync, opendirSync, readlinkSync, type Stats } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, join, parse, resolve, sep } from 'node:path';
import { isSystemError, type Owner } from './files.ts';

/**
 * Root in directories of other users. A user who may write a directory decides where its names
 * lead: to a file of root's, to a pipe, to another directory, and may change that at any moment. So
 * root goes there only as that user, and the kernel checks each step. Nothing changes for processes
 * of other users.
 */

/** Thrown for a path that root must not use. The text has the path and the remedy. */
export class OthersPathError extends Error {
  override readonly name = 'OthersPathError';
  readonly code = 'BRINE_PATH_OF_OTHERS';
}

/** A user whose rights root takes. */
interface Other extends Owner {
  /** The path that belongs to the user, and makes all below it the user's. */
  readonly at: string;
}

/** Options of started programs, so that they can not become root again. */
export type StartedAs = Partial<Owner>;

/** The limit of the kernel. */
const LINKS_MAX = 40;
const WRITABLE = 0o022;
const OPEN_TO_ALL = 0o002;
const STICKY = 0o1000;
/** The group of users that this host does not know: no file belongs to it. */
const NOGROUP = 65_534;

/** A path, or several that one user must be able to work in: a directory and some below it. */
export type Paths = string | readonly string[];

/** Unfinished work of root's, and its user; `undefined`: root itself. */
interface Entry {
  readonly as: Other | undefined;
  readonly over: Promise<void>;
  readonly leave: () => void;
}

/** Each entry is within the previous one; the last counts. */
const entries: Entry[] = [];
const within = new AsyncLocalStorage<Entry>();
/** This process's own groups, while it works as another user. */
let ownGroups: readonly number[] = [];
let ownGid = 0;
let current: Other | undefined;

/**
 * Does work in a directory, or with a file, that may be another user's. Root does it as the user
 * who may change where the path leads, with that user's groups; all other users as themselves. The
 * whole process changes its user, so other such work waits, except for work within work. No part of
 * the work may run after its promise is settled.
 * @throws OthersPathError for paths that several users may change, or that their user may not enter
 */
export async function asOwnerOf<T>(paths: Paths, work: () => Promise<T>): Promise<T> {
  if (!isRoot()) return work();
  const outer = within.getStore();
  for (let last = entries.at(-1); last !== undefined && last !== outer; last = entries.at(-1)) {
    await last.over;
  }
  const entry = enter(paths);
  try {
    return await within.run(entry, work);
  } finally {
    entry.leave();
  }
}

/** As {@link asOwnerOf}, at once: no other code runs meanwhile. */
export function asOwnerOfNow<T>(paths: Paths, work: () => T): T {
  if (!isRoot()) return work();
  const { leave } = enter(paths);
  try {
    return work();
  } finally {
    leave();
  }
}

/** The values of a source that reads such paths; their consumer does not run as the owner. */
export async function* eachAsOwnerOf<T>(
  paths: Paths,
  source: AsyncIterable<T>,
): AsyncGenerator<T, void> {
  const values = source[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await asOwnerOf(paths, () => values.next());
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    await asOwnerOf(paths, async () => void (await values.return?.()));
  }
}

/**
 * Starts a program in such work: it belongs to the user for good. Otherwise a shell would take
 * root's rights back.
 */
export function startAsOwner<T>(start: (as: StartedAs) => T): T {
  const as = current;
  if (as === undefined) return start({});
  become(undefined);
  try {
    return start({ uid: as.uid, gid: as.gid });
  } finally {
    become(as);
  }
}

/**
 * True if files that root writes there may have to be given to another user: root works there as
 * itself. False for other users, and where root works as the owner.
 */
export function isRootsOwn(path: string): boolean {
  return isRoot() && asRoot(() => otherOn(path)) === undefined;
}

function enter(paths: Paths): Entry {
  const all = typeof paths === 'string' ? [paths] : paths;
  const found = asRoot(() => otherOnAll(all));
  const as = found && withGroups(found);
  let isOver = (): void => undefined;
  const over = new Promise<void>((resolve) => (isOver = resolve));
  const leave = (): void => {
    entries.splice(entries.indexOf(entry), 1);
    become(entries.at(-1)?.as);
    isOver();
  };
  const entry: Entry = { as, over, leave };
  become(as);
  entries.push(entry);
  if (as === undefined) return entry;
  try {
    for (const path of all) assertEntered(path, as);
  } catch (error) {
    leave();
    throw error;
  }
  return entry;
}

function isRoot(): boolean {
  return process.getuid?.() === 0 && (current !== undefined || process.geteuid?.() === 0);
}

function asRoot<T>(work: () => T): T {
  const before = current;
  become(undefined);
  try {
    return work();
  } finally {
    become(before);
  }
}

/** Changes all threads of this process. Throws if the host does not let root do so. */
function become(as: Other | undefined): void {
  if (as?.uid === current?.uid) return;
  if (current === undefined) {
    [ownGroups, ownGid] = [process.getgroups?.() ?? [], process.getegid?.() ?? 0];
  } else {
    process.seteuid?.(0);
  }
  // From here on it is root, perhaps with another group: a failure below must not stay half done.
  current = undefined;
  try {
    process.setgroups?.(as === undefined ? [...ownGroups] : groupsOf(as));
    process.setegid?.(as === undefined ? ownGid : as.gid);
    if (as !== undefined) process.seteuid?.(as.uid);
    current = as;
  } catch (error) {
    process.setegid?.(ownGid);
    process.setgroups?.([...ownGroups]);
    throw error;
  }
}

const knownGroups = new Map<number, { readonly gid: number; readonly all: readonly number[] }>();

function groupsOf({ uid, gid }: Other): number[] {
  return [...(knownGroups.get(uid)?.all ?? [gid])];
}

/** The user's own group, not that of the directory, which may be root's. */
function withGroups(other: Other): Other {
  const { uid, at } = other;
  let known = knownGroups.get(uid);
  if (known === undefined) {
    known = asRoot(() => lookUpGroups(uid));
    knownGroups.set(uid, known);
  }
  return { uid, gid: known.gid, at };
}

function lookUpGroups(uid: number): { readonly gid: number; readonly all: readonly number[] } {
  const before = process.getgroups?.() ?? [];
  let found: { readonly gid: number; readonly username: string };
  try {
    process.seteuid?.(uid);
    // The host's entry for the current user of this process.
    found = userInfo();
  } catch (error) {
    if (!isSystemError(error, 'ERR_SYSTEM_ERROR')) throw error;
    return { gid: NOGROUP, all: [NOGROUP] };
  } finally {
    process.seteuid?.(0);
  }
  const gid = process.getegid?.() ?? 0;
  try {
    initgroups(found.username, found.gid);
    // Node counts the effective group among them, so it must not be root's.
    process.setegid?.(found.gid);
    return { gid: found.gid, all: process.getgroups?.() ?? [found.gid] };
  } finally {
    process.setegid?.(gid);
    process.setgroups?.(before);
  }
}

/** Node's types lack it; every POSIX system has it. */
function initgroups(name: string, gid: number): void {
  const own = process as unknown as { readonly initgroups: (name: string, gid: number) => void };
  own.initgroups(name, gid);
}

function otherOnAll(paths: readonly string[]): Other | undefined {
  let first: Other | undefined;
  for (const path of paths) {
    const other = otherOn(path);
    if (first !== undefined && other !== undefined && first.uid !== other.uid) {
      throw new OthersPathError(
        `${first.at} belongs to user ${first.uid} and ${other.at} to user ${other.uid}, so that ` +
          'root can go to both as neither: give them to one user',
      );
    }
    first ??= other;
  }
  return first;
}

/**
 * The first directory that is not root's on the way to a path. Undefined if only root may change
 * any of it: then no other user can redirect root, now or later. Root has put any file in a
 * directory of its own there, whichever user owns the file.
 */
function otherOn(path: string): Other | undefined {
  const { root } = parse(resolve(path));
  const left = partsOf(resolve(path));
  let [at, links] = [root, 0];
  let here = lstatSync(root);
  for (let name = left.shift(); name !== undefined; name = left.shift()) {
    if (name === '..') {
      at = dirname(at);
      here = lstatSync(at);
      continue;
    }
    const next = join(at, name);
    const found = lstatSync(next, { throwIfNoEntry: false });
    assertRootsAlone(at, here, next, found);
    if (found === undefined) return undefined;
    const isPutByAnyone = (here.mode & OPEN_TO_ALL) !== 0;
    if (found.uid !== 0 && (found.isDirectory() || isPutByAnyone)) {
      return { uid: found.uid, gid: found.gid, at: next };
    }
    if (found.isSymbolicLink()) {
      if ((links += 1) > LINKS_MAX) throw new OthersPathError(`${path}: too many links`);
      const target = readlinkSync(next);
      if (target.startsWith(sep)) [at, here] = [root, lstatSync(root)];
      left.unshift(...partsOf(target));
      continue;
    }
    [at, here] = [next, found];
    if (!found.isDirectory()) return undefined;
  }
  if (here.isDirectory()) assertRootsAlone(at, here, join(at, '*'), here);
  return undefined;
}

function partsOf(path: string): string[] {
  return path.split(sep).filter((part) => part !== '' && part !== '.');
}

/** In a directory of root's that others may write, the owner of the next name is uncertain. */
function assertRootsAlone(dir: string, stat: Stats, next: string, found: Stats | undefined): void {
  const mode = stat.gid === 0 ? stat.mode & ~0o020 : stat.mode;
  if ((mode & WRITABLE) === 0) return;
  // Other users can not move or remove root's files in such a directory.
  if ((mode & STICKY) !== 0 && found !== undefined) return;
  const who = (mode & OPEN_TO_ALL) === 0 ? `the group ${stat.gid}` : 'everybody';
  const what =
    (mode & STICKY) === 0 ? `chmod ${who === 'everybody' ? 'o' : 'g'}-w ${dir}` : `make ${next}`;
  throw new OthersPathError(
    `${dir} belongs to root and ${who} may write there, so that it may lead root anywhere: ${what}`,
  );
}

/** A listing that shows a closed directory as empty must not mislead root. */
function assertEntered(path: string, { uid, at }: Other): void {
  try {
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found?.isDirectory() === true) opendirSync(path).closeSync();
  } catch (error) {
    if (!isSystemError(error, 'EACCES', 'EPERM')) throw error;
    throw new OthersPathError(
      `${at} belongs to user ${uid}; root goes there only as that user, who may not enter ` +
        `${path}: give it to that user (chown -R), or have it where root alone may write`,
      { cause: error },
    );
  }
}
