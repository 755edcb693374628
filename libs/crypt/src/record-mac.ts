import { createHmac, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';
import { asBuffer, constantTimeEqual } from './bytes.ts';
import { PrivateKey } from './keys.ts';

const SALT = 'brine record mac 1';
/** Half of SHA-256, as RFC 2104 allows: a forger gets only a few tries. */
const MAC_BYTES = 16;

/**
 * A code by which a service with `master.pem` proves that it made a record: others that may write
 * into the streams can not make it. A code for one purpose is invalid for another.
 */
export class RecordMac {
  readonly #key: KeyObject;

  private constructor(key: KeyObject) {
    this.#key = key;
  }

  /** Throws CryptError SALT_CRYPT_KEY for an unreadable key. */
  static fromMasterKey(pem: string | PrivateKey, purpose: string): RecordMac {
    const key = typeof pem === 'string' ? PrivateKey.parse(pem) : pem;
    return new RecordMac(
      createSecretKey(Buffer.from(hkdfSync('sha256', key.der(), SALT, purpose, 32))),
    );
  }

  /** The MAC of these parts in this order, 22 characters of base64url. */
  of(...parts: readonly (string | Uint8Array)[]): string {
    const hmac = createHmac('sha256', this.#key);
    for (const part of parts) {
      const bytes = typeof part === 'string' ? Buffer.from(part, 'utf8') : asBuffer(part);
      // With their lengths, no two lists of parts give the same bytes.
      hmac.update(`${bytes.length} `).update(bytes);
    }
    return hmac.digest().subarray(0, MAC_BYTES).toString('base64url');
  }

  /** True if `mac` was made from these parts; takes the same time for every wrong one. */
  isOf(mac: string, ...parts: readonly (string | Uint8Array)[]): boolean {
    return constantTimeEqual(mac, this.of(...parts));
  }
}
