import type { Stats } from 'node:fs';
import { lstat, opendir } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { noteUnread } from '../check-files.ts';

/** A file, directory or socket of a master. */
export interface MadeFile {
  /** Path that begins with its root, as `cache/jobs`. */
  readonly at: string;
  readonly path: string;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly kind: 'file' | 'dir' | 'socket';
}

/** The directories of a master, by the name that paths below them begin with. */
export type MadeRoots = Readonly<Record<'pki' | 'cache' | 'sock' | 'state', string>>;

/** The files that were found, and those that could not be examined, with the system's error. */
export interface MadeFiles {
  readonly files: readonly MadeFile[];
  readonly unread: ReadonlyMap<string, string>;
  /** False if there were too many. */
  readonly all: boolean;
}

/** A master of 50,000 minions has as many key files, and some 100,000 files of jobs. */
const FILES_MAX = 500_000;
/** Files to examine in one directory: those of minions and jobs are alike. */
const ALIKE_MAX = 2_000;
const DEPTH_MAX = 12;
/** Group or others may go through a directory. */
const MAY_ENTER = 0o011;

/**
 * Lists the files below a master's directories, except in directories that only their owner may
 * enter, and links, which have no mode. Never throws.
 */
export async function madeFiles(roots: MadeRoots): Promise<MadeFiles> {
  const look = new Look(roots);
  for (const [name, path] of Object.entries(roots)) await look.at(path, name, 0);
  return look;
}

class Look implements MadeFiles {
  readonly files: MadeFile[] = [];
  readonly unread = new Map<string, string>();
  all = true;
  readonly #roots: ReadonlyMap<string, string>;

  constructor(roots: MadeRoots) {
    this.#roots = new Map(Object.entries(roots).map(([name, path]) => [path, name]));
  }

  async at(path: string, at: string, depth: number): Promise<void> {
    // The state directory is usually below the cache, and is a root of its own.
    const own = this.#roots.get(path);
    if (own !== undefined && own !== at) return;
    const one = await this.#stat(path);
    if (one === undefined || one.isSymbolicLink()) return;
    const kind = one.isSocket() ? 'socket' : one.isDirectory() ? 'dir' : 'file';
    const mode = one.mode & 0o7777;
    this.files.push({ at, path, mode, uid: one.uid, gid: one.gid, kind });
    // Always descend from a root: the operator may open it later.
    if (kind !== 'dir' || (depth > 0 && (mode & MAY_ENTER) === 0)) return;
    if (depth >= DEPTH_MAX) this.all = false;
    else await this.#below(path, at, depth);
  }

  async #below(path: string, at: string, depth: number): Promise<void> {
    let files = 0;
    try {
      for await (const entry of await opendir(path)) {
        if (this.files.length >= FILES_MAX || files > ALIKE_MAX) {
          this.all = false;
          return;
        }
        files += entry.isDirectory() ? 0 : 1;
        await this.at(join(path, entry.name), `${at}${sep}${entry.name}`, depth + 1);
      }
    } catch (error) {
      noteUnread(this.unread, path, error);
    }
  }

  async #stat(path: string): Promise<Stats | undefined> {
    try {
      return await lstat(path);
    } catch (error) {
      noteUnread(this.unread, path, error);
      return undefined;
    }
  }
}
