import { randomBytes } from 'node:crypto';
import { open, readFile, rename, unlink } from 'node:fs/promises';
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
  const draft = join(dirname(path), `.${process.pid}-${randomBytes(6).toString('hex')}.new`);
  const file = await open(draft, 'wx', mode);
  try {
    await file.writeFile(content);
    await file.chmod(mode);
    if (owner) await file.chown(owner.uid, owner.gid);
    await file.close();
    await rename(draft, path);
  } catch (error) {
    await file.close();
    await removeIfThere(draft);
    throw error;
  }
}
