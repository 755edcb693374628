import { randomBytes, timingSafeEqual } from 'node:crypto';
import { asBuffer } from './bytes.ts';
import { CryptError } from './errors.ts';
import { nativePart, NativeSeal } from './native-seal.ts';
import { NodeSeal } from './node-seal.ts';
import type { Seal } from './seal.ts';
import { BLOCK_BYTES, KEY_BYTES } from './seal.ts';

/** A nonce is 32 hexadecimal digits (uuid4); it is compared, not read. */
const NONCE_BYTES = 32;

/** A key string: the base64 text (76 characters) of 56 random bytes. The text itself is sent. */
export function newKeyString(random: (count: number) => Uint8Array = randomBytes): string {
  return asBuffer(random(KEY_BYTES)).toString('base64');
}

/** The options of `seal`. */
export interface SealOptions {
  /** The nonce of the request that is answered; precedes the body. */
  readonly nonce?: string;
  /** 16 bytes; random by default, fixed for golden bytes. */
  readonly iv?: Uint8Array;
}

/** The code that computes seals in this process: the native part, or Node's and the reason. */
export type CryptoInUse =
  { readonly crypto: 'native' } | { readonly crypto: 'node'; readonly why: string };

/** The code that a new Crypticle computes with. */
export function cryptoInUse(): CryptoInUse {
  const part = nativePart();
  return typeof part === 'string' ? { crypto: 'node', why: part } : { crypto: 'native' };
}

/** Salt's symmetric seal around packed values (Salt: salt/crypt.py Crypticle). */
export class Crypticle {
  readonly keyString: string;
  readonly #seal: Seal;

  /**
   * Computes with the native part if it exists; `node` forces Node's own code. Throws CryptError
   * SALT_CRYPT_KEY unless the text is the base64 of 56 bytes.
   */
  constructor(keyString: string, crypto?: 'node') {
    const text = keyString.trim();
    const key = Buffer.from(text, 'base64');
    if (key.length !== KEY_BYTES || key.toString('base64') !== text) {
      throw new CryptError('SALT_CRYPT_KEY', `key string is not base64 of ${KEY_BYTES} bytes`);
    }
    this.keyString = text;
    const part = crypto === 'node' ? crypto : nativePart();
    this.#seal = typeof part === 'string' ? new NodeSeal(key) : new NativeSeal(part, key);
  }

  /** Seals a packed value; throws CryptError SALT_CRYPT_LENGTH for an IV that is not 16 bytes. */
  seal(body: Uint8Array, options: SealOptions = {}): Buffer {
    const iv = options.iv ?? newIv();
    if (iv.length !== BLOCK_BYTES) {
      throw new CryptError('SALT_CRYPT_LENGTH', `IV has ${iv.length} bytes`);
    }
    return this.#seal.seal(body, options.nonce ?? '', iv);
  }

  /**
   * The packed value inside a blob, or undefined if the prefix is missing (Salt's receivers then
   * see an empty map). Throws CryptError SALT_CRYPT_MAC for blobs that were altered or have another
   * key, SALT_CRYPT_LENGTH if an owner of the key did not seal whole blocks.
   */
  open(blob: Uint8Array): Buffer | undefined {
    return this.#seal.open(blob);
  }

  /**
   * As `open`, for the answer to a request with this nonce. Throws CryptError SALT_CRYPT_NONCE if
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
}

/** IVs drawn at once from the random source; each is used once. */
const IVS_AT_ONCE = 256;
let ivs = Buffer.alloc(0);

function newIv(): Buffer {
  if (ivs.length === 0) ivs = randomBytes(BLOCK_BYTES * IVS_AT_ONCE);
  const iv = ivs.subarray(0, BLOCK_BYTES);
  ivs = ivs.subarray(BLOCK_BYTES);
  return iv;
}

/**
 * The rule against replayed publications: a serial counts only if it is higher than the last one
 * under the same AES key. Each key has its own object.
 */
export class SerialMemory {
  #last = -1n;

  /** True if the serial is new; remembers it. */
  accept(serial: number | bigint): boolean {
    if (typeof serial === 'number' && !Number.isFinite(serial)) return false;
    const value = typeof serial === 'number' ? BigInt(Math.trunc(serial)) : serial;
    if (value <= this.#last) return false;
    this.#last = value;
    return true;
  }
}
