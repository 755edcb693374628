import { createHash } from 'node:crypto';
import apacheCrypt from 'apache-crypt';
import apacheMd5Module from 'apache-md5';
import { compare } from 'bcryptjs';
import { verify } from 'unixcrypt';
import { LoginError } from './login-module.ts';
import { sameSecret } from './same-secret.ts';

/** In its types the function is a member; it is the module itself. */
const apacheMd5 = apacheMd5Module as unknown as (password: string, hash: string) => string;

/** Rounds of SHA-crypt beyond which a login would block the worker for some seconds. */
const ROUNDS_MAX = 200_000;

/** What crypt(3) takes; a longer one would be hashed for seconds, on the loop of the worker. */
const PASSWORD_MAX_BYTES = 511;

/** DES crypt: 13 characters. */
const DES = /^[./0-9A-Za-z]{13}$/;

/**
 * Whether a password belongs to an entry of a htpasswd file: all that `htpasswd` and passlib's
 * HtpasswdFile write: bcrypt, MD5 (apr1), SHA-1, SHA-256, SHA-512, DES, plain text. A password of
 * more than 511 bytes belongs to none.
 */
export async function checkHtpasswd(password: string, hash: string): Promise<boolean> {
  if (Buffer.byteLength(password) > PASSWORD_MAX_BYTES) return false;
  if (/^\$2[abxy]\$/.test(hash)) return compare(password, hash);
  if (hash.startsWith('$apr1$')) return sameSecret(apacheMd5(password, hash), hash);
  if (hash.startsWith('{SHA}')) {
    const digest = createHash('sha1').update(password, 'utf8').digest('base64');
    return sameSecret(`{SHA}${digest}`, hash);
  }
  if (/^\$[56]\$/.test(hash)) {
    const rounds = /^\$[56]\$rounds=(\d+)\$/.exec(hash)?.[1] ?? '5000';
    if (Number(rounds) > ROUNDS_MAX) throw new LoginError('a password hash has too many rounds');
    return verify(password, hash);
  }
  if (DES.test(hash)) return sameSecret(apacheCrypt(password, hash), hash);
  if (hash.startsWith('$') || hash.startsWith('{')) return false;
  return sameSecret(password, hash);
}
