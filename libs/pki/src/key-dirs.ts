import { createHash } from 'node:crypto';
import { chmod, mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { normalisePem } from '@brine/crypt';

/** The state of a minion id in the key store. */
export type KeyState = 'accepted' | 'pending' | 'rejected';

/** Every directory below pki_dir with one file per minion id. */
export type KeyShelf = KeyState | 'denied' | 'autosign';

/** Salt: salt/key.py Key._check_minions_directories. */
const DIR_OF: Readonly<Record<KeyShelf, string>> = {
  accepted: 'minions',
  pending: 'minions_pre',
  rejected: 'minions_rejected',
  denied: 'minions_denied',
  autosign: 'minions_autosign',
};

/** All shelves, in the order in which `salt-key -L` prints the first four. */
export const KEY_SHELVES: readonly KeyShelf[] = [
  'accepted',
  'denied',
  'pending',
  'rejected',
  'autosign',
];

/**
 * The order in which a master asks: a rejected key counts although an accepted file exists too
 * (Salt: salt/channel/server.py ReqServerChannel._auth).
 */
export const STATE_PRECEDENCE: readonly KeyState[] = ['rejected', 'accepted', 'pending'];

/** The directory of a shelf. */
export function shelfDir(pkiDir: string, shelf: KeyShelf): string {
  return join(pkiDir, DIR_OF[shelf]);
}

/** pki_dir and its directories: all of one user. */
export function keyDirs(pkiDir: string): readonly string[] {
  return [pkiDir, ...KEY_SHELVES.map((shelf) => shelfDir(pkiDir, shelf))];
}

/** Makes pki_dir and its directories, 0700 as Salt: salt/utils/verify.py verify_env does. */
export async function ensureKeyDirs(pkiDir: string): Promise<void> {
  for (const dir of keyDirs(pkiDir)) {
    const made = await mkdir(dir, { recursive: true, mode: 0o700 });
    if (made !== undefined) continue;
    const { mode } = await stat(dir);
    // Operators may admit the group (permissive_pki_access), never others.
    if ((mode & 0o007) !== 0) await chmod(dir, mode & 0o770);
  }
}

/** Hash of a public key's text: white space at the ends and CRLF do not count. */
export function keyHash(pem: string): string {
  return createHash('sha256').update(normalisePem(pem)).digest('hex').slice(0, 32);
}
