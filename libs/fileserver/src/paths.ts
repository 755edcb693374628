import { readlink, realpath } from 'node:fs/promises';
import { posix } from 'node:path';

/** Links followed in a row before the kernel refuses (Linux MAXSYMLINKS). */
const LINKS_MAX = 40;

/** A path without `.`, `..`, doubled and trailing slashes, as Python's `os.path.normpath`. */
export function normalPath(path: string): string {
  const normal = posix.normalize(path);
  return normal.length > 1 && normal.endsWith('/') ? normal.slice(0, -1) : normal;
}

/** True where `path` is `root` or below it; both are absolute and normal. */
export function isBelow(root: string, path: string): boolean {
  return path === root || root === '/' || path.startsWith(`${root}/`);
}

/**
 * True if a path stays below its root (salt/utils/verify.py `clean_path` with `subdir=True`). With
 * `resolveLinks` both are resolved first.
 */
export async function staysBelow(
  root: string,
  path: string,
  resolveLinks: boolean,
): Promise<boolean> {
  const normalRoot = normalPath(posix.resolve(root));
  const normal = normalPath(posix.resolve(normalRoot, path));
  if (!resolveLinks) return isBelow(normalRoot, normal);
  return isBelow(await realPath(normalRoot), await realPath(normal));
}

/**
 * The path with all symbolic links resolved, even if its end does not exist, as Python's
 * `os.path.realpath`. Never rejects.
 */
export async function realPath(path: string, links = 0): Promise<string> {
  try {
    return await realpath(path);
  } catch {
    // Missing or not readable: resolve the part that exists.
    if (path === '/' || links >= LINKS_MAX) return path;
  }
  const parent = await realPath(posix.dirname(path), links + 1);
  const here = posix.join(parent, posix.basename(path));
  let target: string;
  try {
    target = await readlink(here);
  } catch {
    return here;
  }
  return realPath(posix.resolve(parent, target), links + 1);
}

/** Compares by code points, as Python sorts texts. */
export function byCodePoint(a: string, b: string): number {
  if (a === b) return 0;
  // UTF-16 sorts surrogates before U+E000, UTF-8 does not; everything else sorts alike.
  if (!SURROGATE.test(a) && !SURROGATE.test(b)) return a < b ? -1 : 1;
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

const SURROGATE = /[\ud800-\udfff]/;
