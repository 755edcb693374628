import { readdir, readlink, stat } from 'node:fs/promises';
import { posix } from 'node:path';
import { isSystemError } from '@brine/files';
import { identityOf } from './file-hashes.ts';

/** One name in a directory. */
export interface Entry {
  readonly name: string;
  /** A directory, or a link to one. */
  readonly isDirectory: boolean;
  /** The target of a symbolic link; absent for anything else. */
  readonly link?: string;
}

/** The entries of a directory when it was read. */
export interface Scan {
  /** Differs after any change of the directory. */
  readonly identity: string;
  /** Device and inode, to find a directory that links lead to again below itself. */
  readonly node: string;
  readonly entries: readonly Entry[];
  /** When it was read, by `performance.now()`. */
  readonly readAt: number;
  /** Unchanged for a while before it was read: the same identity means the same entries. */
  readonly settled: boolean;
}

/** As for hashes: changes within one tick of the times would not be seen. */
const RACY_MS = 2_000;

/**
 * Reads a directory, or gives `known` back where nothing in it changed and it is not older than
 * `maxAgeMs`; undefined where it is gone or cannot be read.
 */
export async function scanDirectory(
  path: string,
  known: Scan | undefined,
  maxAgeMs: number,
): Promise<Scan | undefined> {
  try {
    const stats = await stat(path, { bigint: true });
    const identity = identityOf(stats);
    const now = performance.now();
    if (known?.settled === true && known.identity === identity && now - known.readAt < maxAgeMs) {
      return known;
    }
    const changed = stats.mtimeNs > stats.ctimeNs ? stats.mtimeNs : stats.ctimeNs;
    const settled = Date.now() - Number(changed / 1_000_000n) > RACY_MS;
    const node = `${stats.dev}:${stats.ino}`;
    return { identity, node, entries: await entriesOf(path), readAt: now, settled };
  } catch (cause) {
    if (isGone(cause)) return undefined;
    throw cause;
  }
}

async function entriesOf(path: string): Promise<Entry[]> {
  const found = await readdir(path, { withFileTypes: true });
  const entries: Entry[] = [];
  for (const entry of found) {
    // No request can ask for a name that is not UTF-8.
    if (entry.name.includes('\ufffd')) continue;
    if (!entry.isSymbolicLink()) {
      entries.push({ name: entry.name, isDirectory: entry.isDirectory() });
      continue;
    }
    const at = posix.join(path, entry.name);
    const target = await stat(at).catch(() => undefined);
    const link = await readlink(at).catch(() => undefined);
    if (link === undefined) continue;
    entries.push({ name: entry.name, isDirectory: target?.isDirectory() === true, link });
  }
  return entries;
}

const GONE = ['ENOENT', 'ENOTDIR', 'EACCES', 'ELOOP', 'ENAMETOOLONG', 'EPERM'];

/** Gone, no directory, or closed to us: Salt lists what it can see (`os.walk` swallows these). */
function isGone(cause: unknown): boolean {
  return isSystemError(cause, ...GONE);
}
