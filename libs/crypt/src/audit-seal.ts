import type { KeyObject } from 'node:crypto';
import { createHmac, createSecretKey, hkdfSync } from 'node:crypto';
import { PrivateKey } from './keys.ts';

const SALT = 'brine audit seal 1';

/** The seal before the first row of a writer. */
export const AUDIT_BEGINNING = '0'.repeat(64);

/**
 * Seals rows of the audit: the seal of a row covers the row and the seal of the one before. So no
 * row can be changed, removed or moved. The key is derived from the master's private key: write
 * access to the database is not enough to make seals.
 */
export class AuditSeal {
  readonly #key: KeyObject;

  private constructor(key: KeyObject) {
    this.#key = key;
  }

  /** Throws CryptError SALT_CRYPT_KEY for an unreadable key. */
  static fromMasterKey(pem: string | PrivateKey): AuditSeal {
    const key = typeof pem === 'string' ? PrivateKey.parse(pem) : pem;
    return new AuditSeal(createSecretKey(Buffer.from(hkdfSync('sha256', key.der(), SALT, '', 32))));
  }

  /**
   * The seal of a row, 64 hex digits.
   * @param before the seal of the row before, {@link AUDIT_BEGINNING} for the first
   */
  of(
    row: { readonly writer: string; readonly n: number; readonly body: string },
    before: string,
  ): string {
    // JSON separates the parts unambiguously.
    const text = JSON.stringify([before, row.writer, row.n, row.body]);
    return this.#mac(text);
  }

  /** A digest, 64 hex digits. Guessing its source needs `master.pem`. */
  blind(digest: string): string {
    // A row's text begins with `[`, so this never equals a seal.
    return this.#mac(`blind ${digest}`);
  }

  #mac(text: string): string {
    return createHmac('sha256', this.#key).update(text, 'utf8').digest('hex');
  }
}
