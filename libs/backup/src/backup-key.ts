import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { BackupError } from './backup-error.ts';

/** Purpose of the code, so that a code made for another purpose never matches. */
const PURPOSE = 'brine backup\0';
const KEY_BYTES = 32;
const TEXT = /^[A-Za-z0-9_-]{43}$/;

/**
 * The key that proves that a backup was made by this host. No backup contains it: write access to
 * stored backups is not enough to forge one.
 */
export class BackupKey {
  /** One line of 43 characters of base64url. */
  readonly text: string;
  readonly #bytes: Buffer;

  private constructor(text: string) {
    this.text = text;
    this.#bytes = Buffer.from(text, 'base64url');
  }

  static make(): BackupKey {
    return new BackupKey(randomBytes(KEY_BYTES).toString('base64url'));
  }

  /** @throws BackupError if the text is not a valid key */
  static parse(text: string): BackupKey {
    const line = text.trim();
    const isKey = TEXT.test(line) && Buffer.from(line, 'base64url').length === KEY_BYTES;
    if (!isKey) throw new BackupError('it is no key of backups: 43 characters on one line');
    return new BackupKey(line);
  }

  /** The code of a manifest, which has the hashes of all other entries. HMAC-SHA256, base64url. */
  macOf(manifest: Uint8Array): string {
    return createHmac('sha256', this.#bytes).update(PURPOSE).update(manifest).digest('base64url');
  }

  /** True if `mac` is the code of this manifest. Compares in constant time. */
  isOf(mac: string, manifest: Uint8Array): boolean {
    const [given, own] = [Buffer.from(mac), Buffer.from(this.macOf(manifest))];
    return given.length === own.length && timingSafeEqual(given, own);
  }
}
