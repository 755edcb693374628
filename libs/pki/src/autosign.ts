import { lstat, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ifThere, removeIfThere } from '@brine/files';
import { mayHaveKey } from '@brine/job';
import { shelfDir } from './key-dirs.ts';

/** The lines of a signing file; `refused` is the reason why they do not count. */
export interface SigningLines {
  readonly lines: readonly string[];
  readonly refused?: 'world-writable' | 'group-writable' | 'too-large';
}

/** A signing file is a short list edited by hand; 1 MiB is some 50,000 ids. */
const MAX_SIGNING_FILE_BYTES = 1024 * 1024;

/** The lines that count in the text of an autosign_file or autoreject_file. */
export function parseSigningLines(text: string): readonly string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
}

/**
 * Reads an autosign_file or autoreject_file. A missing file has no lines. A file that others may
 * write is refused, one that its group may write too unless `permissivePkiAccess`
 * (Salt: salt/daemons/masterapi.py AutoKey.check_permissions).
 */
export async function readSigningFile(
  path: string,
  options: { readonly permissivePkiAccess?: boolean } = {},
): Promise<SigningLines> {
  const found = await ifThere(stat(path));
  if (found === undefined) return { lines: [] };
  if ((found.mode & 0o002) !== 0) return { lines: [], refused: 'world-writable' };
  if ((found.mode & 0o020) !== 0 && !options.permissivePkiAccess) {
    return { lines: [], refused: 'group-writable' };
  }
  if (found.size > MAX_SIGNING_FILE_BYTES) return { lines: [], refused: 'too-large' };
  return { lines: parseSigningLines((await ifThere(readFile(path, 'utf8'))) ?? '') };
}

/**
 * Uses up the stub `minions_autosign/<id>`: true when there was one. Stubs older than
 * `timeoutMinutes` (`autosign_timeout`, 120; 0 = never) are removed first and do not count.
 */
export async function takeAutosignStub(
  pkiDir: string,
  id: string,
  options: { readonly timeoutMinutes?: number; readonly nowMs?: number } = {},
): Promise<boolean> {
  if (!mayHaveKey(id)) return false;
  const path = join(shelfDir(pkiDir, 'autosign'), id);
  const timeoutMs = (options.timeoutMinutes ?? 120) * 60_000;
  const stub = await ifThere(lstat(path));
  if (stub?.isFile() !== true) return false;
  const expired = timeoutMs > 0 && stub.mtimeMs < (options.nowMs ?? Date.now()) - timeoutMs;
  const removed = await removeIfThere(path);
  return removed && !expired;
}

/**
 * The values listed for one grain in `autosign_grains_dir/<grain>`: one per line, `#` comments
 * (Salt: salt/daemons/masterapi.py AutoKey.check_autosign_grains). Undefined without such a file.
 */
export async function readAutosignGrain(
  dir: string,
  grain: string,
  options: { readonly permissivePkiAccess?: boolean } = {},
): Promise<readonly string[] | undefined> {
  if (!mayHaveKey(grain)) return undefined;
  const names = await ifThere(readdir(dir));
  if (names?.includes(grain) !== true) return undefined;
  return (await readSigningFile(join(dir, grain), options)).lines;
}
