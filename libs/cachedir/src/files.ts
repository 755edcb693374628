import { randomBytes } from 'node:crypto';
import { link, open, readFile, rename, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** True when `error` is a system error with one of these codes. */
export function isSystemError(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code));
}

/** The bytes of a file, or undefined where there is none. */
export async function readIfThere(path: string): Promise<Buffer | undefined> {
  try {
    return await readFile(path);
  } catch (error) {
    if (isSystemError(error, 'ENOENT', 'ENOTDIR')) return undefined;
    throw error;
  }
}

/** Removes a file; false where there was none. */
export async function removeIfThere(path: string): Promise<boolean> {
  try {
    await unlink(path);
    return true;
  } catch (error) {
    if (isSystemError(error, 'ENOENT', 'ENOTDIR')) return false;
    throw error;
  }
}

/** Who shall own a file. */
export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/**
 * Writes a file so that a reader sees the old content or the new one, never a part. Not synced to
 * the disk: everything below cachedir can be made again.
 */
export async function writeAtomic(
  path: string,
  content: Uint8Array | string,
  mode: number,
  owner?: Owner,
): Promise<void> {
  await rename(await writeDraft(path, content, mode, owner), path);
}

/** As {@link writeAtomic}, but false where there is such a file already, which then stays. */
export async function writeNew(
  path: string,
  content: Uint8Array | string,
  mode: number,
): Promise<boolean> {
  const draft = await writeDraft(path, content, mode);
  try {
    await link(draft, path);
    return true;
  } catch (error) {
    if (isSystemError(error, 'EEXIST')) return false;
    throw error;
  } finally {
    await removeIfThere(draft);
  }
}

/** Writes a whole file beside its place; gives its path. */
async function writeDraft(
  path: string,
  content: Uint8Array | string,
  mode: number,
  owner?: Owner,
): Promise<string> {
  const draft = join(dirname(path), `.${process.pid}-${randomBytes(6).toString('hex')}.new`);
  const file = await open(draft, 'wx', mode);
  try {
    await file.writeFile(content);
    await file.chmod(mode);
    if (owner) await file.chown(owner.uid, owner.gid);
    await file.close();
    return draft;
  } catch (error) {
    await file.close();
    await removeIfThere(draft);
    throw error;
  }
}
