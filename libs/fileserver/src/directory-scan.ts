import { readdir, readlink, stat } from 'node:fs/promises';
import { posix } from 'node:path';
import { isSystemError } from '@brine/files';
import { identityOf } from './file-hashes.ts';

/** A name in a directory. */
export interface Entry {
  readonly name: string;
  /** A directory, or a link to one. */
  readonly isDirectory: boolean;
  /** The target of a symbolic link; absent for other entries. */
  readonly link?: string;
}

/** The entries of a directory when it was read. */
export interface Scan {
  /** Differs after any change of the directory. */
  readonly identity: string;
  /** Device and inode, to find links that lead back to a directory above. */
  readonly node: string;
  readonly entries: readonly Entry[];
  /** The time of the read, by `performance.now()`. */
  readonly readAt: number;
  /** Unchanged for a while before the read: the same identity means the same entries. */
  readonly settled: boolean;
}

/** As for hashes: changes within one tick of the times are invisible. */
const RACY_MS = 2_000;

/**
 * Reads a directory, or returns `known` if nothing in it changed and it is not older than
 * `maxAgeMs`. Undefined for a missing or unreadable directory.
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
    // A name outside UTF-8 can not be requested.
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

/** Missing, no directory, or unreadable: Salt ignores these errors too (`os.walk`). */
function isGone(cause: unknown): boolean {
  return isSystemError(cause, ...GONE);
}
