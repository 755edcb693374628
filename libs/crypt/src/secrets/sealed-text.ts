import { CryptError } from '../errors.ts';
import type { PrivateKey } from '../keys.ts';
import { SecretBox } from './secret-box.ts';

/** The prefix of a sealed value, for people that read it. */
const MARK = 'sealed:';

/**
 * Seals a value that passes through a stream to one reader of the same master: the stream, its
 * backups, and all other readers get a text. Each text opens at one place alone, as a tag.
 */
export class SealedText {
  readonly #box: SecretBox;

  private constructor(box: SecretBox) {
    this.#box = box;
  }

  /** Throws CryptError SALT_CRYPT_KEY for an unreadable key. */
  static fromMasterKey(pem: string | PrivateKey, purpose: string): SealedText {
    return new SealedText(SecretBox.fromMasterKey(pem, purpose));
  }

  /** A text for these bytes, `sealed:` and base64url. */
  seal(place: string, bytes: Uint8Array): string {
    const inner = Buffer.concat([headOf(place), bytes]);
    return `${MARK}${this.#box.seal(inner).toString('base64url')}`;
  }

  /** The bytes of a text that was sealed for this place; undefined for any other text. */
  open(place: string, text: string): Buffer | undefined {
    if (!text.startsWith(MARK)) return undefined;
    const head = headOf(place);
    try {
      const inner = this.#box.open(Buffer.from(text.slice(MARK.length), 'base64url'));
      return inner.subarray(0, head.length).equals(head) ? inner.subarray(head.length) : undefined;
    } catch (error) {
      if (error instanceof CryptError) return undefined; // Another text with the same prefix.
      throw error;
    }
  }
}

/** Includes the length, so that no place is the beginning of another. */
function headOf(place: string): Buffer {
  const bytes = Buffer.from(place);
  return Buffer.concat([Buffer.from(`${bytes.length} `), bytes]);
}
