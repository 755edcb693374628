import { readFile, writeFile } from 'node:fs/promises';

/** The text of a file; undefined where there is none. */
export async function readTextIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Writes a text file, whole. */
export async function writeText(path: string, text: string): Promise<void> {
  await writeFile(path, text);
}
