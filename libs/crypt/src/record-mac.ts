import { createHmac, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';
import { asBuffer, constantTimeEqual } from './bytes.ts';
import { PrivateKey } from './keys.ts';

const SALT = 'brine record mac 1';
/** Half of SHA-256, as RFC 2104 allows: no forger gets more than a few tries. */
const MAC_BYTES = 16;

/**
 * Tells what services with `master.pem` wrote from what others put into the streams. The key is
 * derived from the master's private key; what was signed for one purpose counts for no other.
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
      // The length tells the parts apart, whatever they contain.
      hmac.update(`${bytes.length} `).update(bytes);
    }
    return hmac.digest().subarray(0, MAC_BYTES).toString('base64url');
  }

  /** Whether `mac` was made of these parts; in the same time for every wrong one. */
  isOf(mac: string, ...parts: readonly (string | Uint8Array)[]): boolean {
    return constantTimeEqual(mac, this.of(...parts));
  }
}
