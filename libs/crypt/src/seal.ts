import { CryptError } from './errors.ts';

/** Bytes of key material: 24 of AES-192, then 32 of HMAC-SHA256 (Salt: salt/crypt.py Crypticle). */
export const KEY_BYTES = 56;
export const BLOCK_BYTES = 16;
export const MAC_BYTES = 32;
/** Salt's PICKLE_PAD; a text without it opens to an empty map. */
export const PREFIX = Buffer.from('pickle::', 'latin1');

/** Seals and opens with one key. Node's and the native implementation are equal to the byte. */
export interface Seal {
  /** As `Crypticle.seal`; the IV has 16 bytes. */
  seal(body: Uint8Array, nonce: string, iv: Uint8Array): Buffer;
  /** As `Crypticle.open`. */
  open(blob: Uint8Array): Buffer | undefined;
}

/** Bytes of prefix, nonce and body with the padding of PKCS #7, which is always present. */
export function paddedLength(length: number): number {
  return length + BLOCK_BYTES - (length % BLOCK_BYTES);
}

/** The error for a blob whose MAC is wrong. */
export function macError(blob: Uint8Array): CryptError {
  const isShort = blob.length < BLOCK_BYTES + MAC_BYTES;
  const text = isShort ? 'blob is too short' : 'blob was sealed with another key, or altered';
  return new CryptError('SALT_CRYPT_MAC', text);
}

/** Why a blob with the right MAC does not open. */
export function lengthError(blob: Uint8Array): CryptError {
  const length = blob.length - BLOCK_BYTES - MAC_BYTES;
  return new CryptError('SALT_CRYPT_LENGTH', `${length} sealed bytes are no whole blocks`);
}
