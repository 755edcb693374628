import { createHash } from 'node:crypto';
import { CryptError } from './errors.ts';

/**
 * The bytes under a fingerprint. `3006`: the lines between BEGIN and END, with their line ends;
 * `key.finger` of minions returns it in every version. `3008`: the whole text as stored, as
 * `salt-key -F` of 3008 prints it. (Salt: salt/utils/crypt.py pem_finger.)
 */
export type FingerprintStyle = '3006' | '3008';

/** The hashes that Salt's option `hash_type` can name. */
const HASHES: ReadonlySet<string> = new Set([
  'md5',
  'sha1',
  'sha224',
  'sha256',
  'sha384',
  'sha512',
]);

/** A key's fingerprint, pairs of hex digits between colons. Throws CryptError for other hashes. */
export function fingerprint(pemText: string, style: FingerprintStyle, hash = 'sha256'): string {
  if (!HASHES.has(hash)) throw new CryptError('SALT_CRYPT_ALGORITHM', `no hash type ${hash}`);
  const bytes = style === '3008' ? pemText : innerLines(pemText);
  const digest = createHash(hash).update(bytes, 'utf8').digest('hex');
  return digest.replace(/(..)(?=.)/g, '$1:');
}

function innerLines(pemText: string): string {
  const lines = pemText.split(/(?<=\n)/).filter((line) => line.trim() !== '');
  return lines.slice(1, -1).join('');
}

/** PEM text as Salt sends and compares it: trimmed, line feeds only (Salt: clean_key). */
export function normalisePem(text: string): string {
  return text.replace(/\r\n?/g, '\n').trim();
}
