import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { MasterOptions } from '@brine/config';
import { asOwnerOf, isRootsOwn, type Owner, readBounded, writeNew } from '@brine/files';
import { BackupError } from '../backup-error.ts';
import { BackupKey } from '../backup-key.ts';

const KEY_MODE = 0o600;
const KEY_MAX_BYTES = 4_096;

/** Path of the key that proves the backups of a host. No backup contains it. */
export function keyPath({ ownPkiDir }: Pick<MasterOptions, 'ownPkiDir'>): string {
  return join(ownPkiDir, 'backup.key');
}

/** Reads a key; undefined if the file is missing. @throws BackupError if it is invalid */
export async function readKey(path: string): Promise<BackupKey | undefined> {
  const bytes = await asOwnerOf(dirname(path), () => readBounded(path, KEY_MAX_BYTES));
  if (bytes === undefined) return undefined;
  try {
    return BackupKey.parse(bytes.toString('latin1'));
  } catch (error) {
    if (!(error instanceof BackupError)) throw error;
    throw new BackupError(`${path}: ${error.message}`);
  }
}

/** Reads the key of this host, or makes it if it is missing. */
export async function loadOrMakeKey(
  options: MasterOptions,
  owner: Owner | undefined,
): Promise<{ readonly key: BackupKey; readonly isNew: boolean }> {
  const path = keyPath(options);
  const found = await readKey(path);
  if (found !== undefined) return { key: found, isNew: false };
  const made = BackupKey.make();
  if (await putKey(options, made, owner)) return { key: made, isNew: true };
  const other = await readKey(path);
  if (other === undefined) throw new BackupError(`${path} was removed meanwhile: run this again`);
  return { key: other, isNew: false };
}

/** Stores a key as that of this host; false if it already has one. */
export function putKey(
  options: MasterOptions,
  { text }: BackupKey,
  owner: Owner | undefined,
): Promise<boolean> {
  const path = keyPath(options);
  const dir = dirname(path);
  const its = isRootsOwn(dir) ? owner : undefined;
  return asOwnerOf(dir, async () => {
    await mkdir(dir, { recursive: true, mode: 0o700 });
    return writeNew(path, `${text}\n`, { mode: KEY_MODE, owner: its });
  });
}
