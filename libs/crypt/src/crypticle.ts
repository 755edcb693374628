import type { KeyObject } from 'node:crypto';
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto';
import { asBuffer } from './bytes.ts';
import { CryptError } from './errors.ts';

/** Bytes of key material: 24 of AES-192, then 32 of HMAC-SHA256 (Salt: salt/crypt.py Crypticle). */
const KEY_BYTES = 56;
const AES_KEY_BYTES = 24;
const CIPHER = 'aes-192-cbc';
const BLOCK_BYTES = 16;
const MAC_BYTES = 32;
/** Salt's PICKLE_PAD; what does not begin with it opens to nothing. */
const PREFIX = Buffer.from('pickle::', 'latin1');
/** A nonce is 32 hexadecimal digits (uuid4); it is compared, not read. */
const NONCE_BYTES = 32;

/** A key string: the base64 text (76 characters) of 56 random bytes. The text is what travels. */
export function newKeyString(random: (count: number) => Uint8Array = randomBytes): string {
  return asBuffer(random(KEY_BYTES)).toString('base64');
}

/** What may be given to `seal`. */
export interface SealOptions {
  /** The nonce of the request that is answered; goes before the body. */
  readonly nonce?: string;
  /** 16 bytes; drawn at random unless golden bytes are to be made. */
  readonly iv?: Uint8Array;
}

/** Salt's symmetric seal around packed values (Salt: salt/crypt.py Crypticle). */
export class Crypticle {
  readonly keyString: string;
  readonly #aesKey: KeyObject;
  readonly #macKey: KeyObject;

  /** Throws CryptError SALT_CRYPT_KEY unless the text is the base64 of 56 bytes. */
  constructor(keyString: string) {
    const text = keyString.trim();
    const key = Buffer.from(text, 'base64');
    if (key.length !== KEY_BYTES || key.toString('base64') !== text) {
      throw new CryptError('SALT_CRYPT_KEY', `key string is not base64 of ${KEY_BYTES} bytes`);
    }
    this.keyString = text;
    this.#aesKey = createSecretKey(key.subarray(0, AES_KEY_BYTES));
    this.#macKey = createSecretKey(key.subarray(AES_KEY_BYTES));
  }

  /** Seals a packed value; throws CryptError SALT_CRYPT_LENGTH for an IV that is not 16 bytes. */
  seal(body: Uint8Array, options: SealOptions = {}): Buffer {
    const iv = options.iv ?? newIv();
    if (iv.length !== BLOCK_BYTES) {
      throw new CryptError('SALT_CRYPT_LENGTH', `IV has ${iv.length} bytes`);
    }
    // Each call into OpenSSL costs more than the bytes of a small reply: one update per cipher and
    // MAC, and the padding written here, is half the time.
    const cipher = createCipheriv(CIPHER, this.#aesKey, iv).setAutoPadding(false);
    const sealed = cipher.update(padded(body, options.nonce ?? ''));
    const macStart = BLOCK_BYTES + sealed.length;
    const blob = Buffer.allocUnsafe(macStart + MAC_BYTES);
    blob.set(iv, 0);
    blob.set(sealed, BLOCK_BYTES);
    const mac = createHmac('sha256', this.#macKey).update(blob.subarray(0, macStart)).digest();
    blob.set(mac, macStart);
    return blob;
  }

  /**
   * The packed value inside a blob, or undefined where the prefix is missing (Salt's receivers then
   * see an empty map). Throws CryptError SALT_CRYPT_MAC for blobs of another key or altered ones,
   * SALT_CRYPT_LENGTH where a holder of the key sealed no whole blocks.
   */
  open(blob: Uint8Array): Buffer | undefined {
    const plain = this.#decrypt(blob);
    return startsWithPrefix(plain) ? plain.subarray(PREFIX.length) : undefined;
  }

  /**
   * As `open`, for the answer to a request with this nonce. Throws CryptError SALT_CRYPT_NONCE when
   * it answers another request.
   */
  openReply(blob: Uint8Array, nonce: string): Buffer | undefined {
    const body = this.open(blob);
    if (body === undefined) return undefined;
    const wanted = Buffer.from(nonce, 'utf8');
    const found = body.subarray(0, NONCE_BYTES);
    if (found.length !== wanted.length || !timingSafeEqual(found, wanted)) {
      throw new CryptError('SALT_CRYPT_NONCE', 'reply carries another nonce');
    }
    return body.subarray(NONCE_BYTES);
  }

  #decrypt(blob: Uint8Array): Buffer {
    const buffer = asBuffer(blob);
    const macStart = buffer.length - MAC_BYTES;
    if (macStart < BLOCK_BYTES) throw new CryptError('SALT_CRYPT_MAC', 'blob is too short');
    const mac = createHmac('sha256', this.#macKey).update(buffer.subarray(0, macStart)).digest();
    if (!timingSafeEqual(mac, buffer.subarray(macStart))) {
      throw new CryptError('SALT_CRYPT_MAC', 'blob was sealed with another key, or altered');
    }
    const length = macStart - BLOCK_BYTES;
    if (length === 0 || length % BLOCK_BYTES !== 0) {
      throw new CryptError('SALT_CRYPT_LENGTH', `${length} sealed bytes are no whole blocks`);
    }
    const decipher = createDecipheriv(CIPHER, this.#aesKey, buffer.subarray(0, BLOCK_BYTES));
    // Salt strips as many bytes as the last one says and looks no further; the MAC has spoken.
    decipher.setAutoPadding(false);
    // Whole blocks and no padding: nothing is left for `final`.
    const whole = decipher.update(buffer.subarray(BLOCK_BYTES, macStart));
    const pad = whole[whole.length - 1] ?? 0;
    // As Python's data[:-pad]: nothing remains of it for a pad of 0 or beyond the length.
    return whole.subarray(0, pad === 0 || pad > whole.length ? 0 : whole.length - pad);
  }
}

/** Prefix, nonce and body with the padding of PKCS #7, which is always there. */
function padded(body: Uint8Array, nonce: string): Buffer {
  const bodyStart = PREFIX.length + Buffer.byteLength(nonce, 'utf8');
  const end = bodyStart + body.length;
  const pad = BLOCK_BYTES - (end % BLOCK_BYTES);
  const plain = Buffer.allocUnsafe(end + pad);
  plain.set(PREFIX, 0);
  plain.write(nonce, PREFIX.length, 'utf8');
  plain.set(body, bodyStart);
  return plain.fill(pad, end);
}

/** Random bytes are drawn for so many IVs at once; each is used once. */
const IVS_AT_ONCE = 256;
let ivs = Buffer.alloc(0);

function newIv(): Buffer {
  if (ivs.length === 0) ivs = randomBytes(BLOCK_BYTES * IVS_AT_ONCE);
  const iv = ivs.subarray(0, BLOCK_BYTES);
  ivs = ivs.subarray(BLOCK_BYTES);
  return iv;
}

function startsWithPrefix(plain: Buffer): boolean {
  return plain.length >= PREFIX.length && PREFIX.equals(plain.subarray(0, PREFIX.length));
}

/**
 * The rule against replayed publications: a serial counts only if it is higher than the last one
 * under the same AES key. One object per key.
 */
export class SerialMemory {
  #last = -1n;

  /** True if the serial is new, which is then remembered. */
  accept(serial: number | bigint): boolean {
    if (typeof serial === 'number' && !Number.isFinite(serial)) return false;
    const value = typeof serial === 'number' ? BigInt(Math.trunc(serial)) : serial;
    if (value <= this.#last) return false;
    this.#last = value;
    return true;
  }
}
