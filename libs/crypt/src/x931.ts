import type { KeyObject } from 'node:crypto';
import { constants, privateEncrypt, publicDecrypt } from 'node:crypto';
import { CryptError } from './errors.ts';

/*
 * RSA with ANSI X9.31 padding and no hash, as OpenSSL 1 had it under RSA_X931_PADDING: the scheme
 * of minion tokens. Node refuses that padding on OpenSSL 3 ("invalid x931 digest"), so this file
 * makes the block and Node computes only the raw power (Salt: salt/utils/rsax931.py).
 *
 *   6A | message | CC                            if it fills the modulus
 *   6B | BB … BB | BA | message | CC             otherwise
 */
const HEAD_FULL = 0x6a;
const HEAD_PADDED = 0x6b;
const FILLER = 0xbb;
const FILLER_END = 0xba;
const TRAILER = 0xcc;

/** The block of a message for a modulus of this size; throws SALT_CRYPT_LENGTH if too long. */
export function x931Block(message: Uint8Array, modulusBytes: number): Buffer {
  const room = modulusBytes - message.length - 2;
  if (room < 0) throw new CryptError('SALT_CRYPT_LENGTH', 'message is too long for the key');
  const block = Buffer.alloc(modulusBytes, FILLER);
  block[0] = room === 0 ? HEAD_FULL : HEAD_PADDED;
  if (room > 0) block[room] = FILLER_END;
  block.set(message, modulusBytes - 1 - message.length);
  block[modulusBytes - 1] = TRAILER;
  return block;
}

/** The message of a block; undefined for any other bytes. */
export function x931Message(block: Buffer): Buffer | undefined {
  const end = block.length - 1;
  if (block[end] !== TRAILER) return undefined;
  if (block[0] === HEAD_FULL) return block.subarray(1, end);
  if (block[0] !== HEAD_PADDED) return undefined;
  let at = 1;
  while (at < end && block[at] === FILLER) at += 1;
  return at < end && block[at] === FILLER_END ? block.subarray(at + 1, end) : undefined;
}

/** The smaller of s and n - s, as X9.31 emits. */
export function x931Encrypt(key: KeyObject, modulus: Buffer, message: Uint8Array): Buffer {
  const block = x931Block(message, modulus.length);
  const power = privateEncrypt({ key, padding: constants.RSA_NO_PADDING }, block);
  const other = subtract(modulus, power);
  return Buffer.compare(power, other) <= 0 ? power : other;
}

/** The message of a signature; undefined for a signature of another key. */
export function x931Recover(key: KeyObject, modulus: Buffer, sig: Uint8Array): Buffer | undefined {
  if (sig.length !== modulus.length || Buffer.compare(sig, modulus) >= 0) return undefined;
  const power = rawPower(key, sig);
  if (power === undefined) return undefined;
  // The trailer's low nibble decides between m and n - m.
  const last = power[power.length - 1] ?? 0;
  return x931Message((last & 0x0f) === (TRAILER & 0x0f) ? power : subtract(modulus, power));
}

function rawPower(key: KeyObject, sig: Uint8Array): Buffer | undefined {
  try {
    return publicDecrypt({ key, padding: constants.RSA_NO_PADDING }, sig);
  } catch {
    // A peer chose the public key: with a key that OpenSSL cannot use nothing is recovered.
    return undefined;
  }
}

/** a - b over big-endian bytes of one length, a >= b. */
function subtract(a: Buffer, b: Buffer): Buffer {
  const result = Buffer.allocUnsafe(a.length);
  let borrow = 0;
  for (let index = a.length - 1; index >= 0; index -= 1) {
    const digit = (a[index] as number) - (b[index] as number) - borrow;
    borrow = digit < 0 ? 1 : 0;
    result[index] = digit & 0xff;
  }
  return result;
}
