import { timingSafeEqual } from 'node:crypto';
import type { PrivateKey, PublicKey } from './keys.ts';

/** A minion signs this to prove that it has its key (Salt: salt/crypt.py gen_token). */
const TOKEN_MESSAGE = Buffer.from('salt', 'latin1');

/** The `tok` of a minion: constant for a key, so worth keeping. */
export function minionToken(key: PrivateKey): Buffer {
  return key.x931Encrypt(TOKEN_MESSAGE);
}

/** True if `tok` was made with the private half of this key. */
export function checkMinionToken(key: PublicKey, tok: Uint8Array): boolean {
  const message = key.x931Recover(tok);
  if (message === undefined || message.length !== TOKEN_MESSAGE.length) return false;
  return timingSafeEqual(message, TOKEN_MESSAGE);
}
