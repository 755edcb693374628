import type { KeyObject } from 'node:crypto';
import {
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  hkdfSync,
  randomBytes,
} from 'node:crypto';
import { asBuffer } from '../bytes.ts';
import { CryptError } from '../errors.ts';
import { PrivateKey } from '../keys.ts';

const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const FORMAT = 1;
const SALT = 'brine secret box 1';

/**
 * Seals values in shared stores, so that a copy of the store opens nothing. The key is derived from
 * the master's private key: only services that have `master.pem` can open it. Layout: format byte
 * 1, 12 bytes IV, ciphertext, 16 bytes tag; the purpose is authenticated too.
 */
export class SecretBox {
  readonly #key: KeyObject;
  readonly #purpose: Buffer;

  private constructor(key: KeyObject, purpose: Buffer) {
    this.#key = key;
    this.#purpose = purpose;
  }

  /** A box for one purpose; no other box opens its values. Throws CryptError SALT_CRYPT_KEY. */
  static fromMasterKey(pem: string | PrivateKey, purpose: string): SecretBox {
    const key = typeof pem === 'string' ? PrivateKey.parse(pem) : pem;
    const info = Buffer.from(purpose, 'utf8');
    const derived = hkdfSync('sha256', key.der(), SALT, info, KEY_BYTES);
    return new SecretBox(createSecretKey(Buffer.from(derived)), info);
  }

  /** Seals bytes; each time differently. */
  seal(bytes: Uint8Array): Buffer {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv(CIPHER, this.#key, iv);
    cipher.setAAD(this.#purpose);
    const sealed = Buffer.concat([cipher.update(bytes), cipher.final()]);
    return Buffer.concat([Buffer.from([FORMAT]), iv, sealed, cipher.getAuthTag()]);
  }

  /** Opens bytes sealed with the same key for the same purpose; throws SALT_CRYPT_BOX. */
  open(sealed: Uint8Array): Buffer {
    const buffer = asBuffer(sealed);
    const tagStart = buffer.length - TAG_BYTES;
    if (tagStart < 1 + IV_BYTES || buffer[0] !== FORMAT) {
      throw new CryptError('SALT_CRYPT_BOX', 'not a sealed secret');
    }
    const iv = buffer.subarray(1, 1 + IV_BYTES);
    const decipher = createDecipheriv(CIPHER, this.#key, iv, { authTagLength: TAG_BYTES });
    decipher.setAAD(this.#purpose);
    decipher.setAuthTag(buffer.subarray(tagStart));
    try {
      const body = decipher.update(buffer.subarray(1 + IV_BYTES, tagStart));
      return Buffer.concat([body, decipher.final()]);
    } catch (cause) {
      throw new CryptError('SALT_CRYPT_BOX', 'secret does not open with this key', { cause });
    }
  }
}
