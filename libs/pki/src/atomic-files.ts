import { randomBytes } from 'node:crypto';
import { link, open, readFile, rename, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** True when `error` is a system error with this code. */
export function isSystemError(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code));
}

/** The text of a file, or undefined where there is none. */
export async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
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

/** Writes a file so that a reader sees the old text or the new one, never a part. */
export async function writeAtomic(path: string, text: string, mode: number): Promise<void> {
  const draft = await writeDraft(path, text, mode);
  try {
    await rename(draft, path);
  } catch (error) {
    await removeIfThere(draft);
    throw error;
  }
}

/**
 * Writes a file only where there is none, complete from the first moment it can be seen.
 * False when another process was first; its file is left as it is.
 */
export async function writeOnce(path: string, text: string, mode: number): Promise<boolean> {
  const draft = await writeDraft(path, text, mode);
  try {
    // link(2) fails where the name exists; rename(2) would replace it.
    await link(draft, path);
    return true;
  } catch (error) {
    if (isSystemError(error, 'EEXIST')) return false;
    throw error;
  } finally {
    await removeIfThere(draft);
  }
}

/** The draft begins with a dot: key listings leave out such files, as Salt does. */
async function writeDraft(path: string, text: string, mode: number): Promise<string> {
  const draft = join(dirname(path), `.${process.pid}-${randomBytes(6).toString('hex')}.new`);
  const file = await open(draft, 'wx', mode);
  try {
    await file.writeFile(text);
    await file.chmod(mode);
    await file.sync();
  } finally {
    await file.close();
  }
  return draft;
}
