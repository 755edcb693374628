import type { KeyObject } from 'node:crypto';
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  timingSafeEqual,
} from 'node:crypto';
import { asBuffer } from './bytes.ts';
import type { Seal } from './seal.ts';
import { BLOCK_BYTES, lengthError, MAC_BYTES, macError, paddedLength, PREFIX } from './seal.ts';

const AES_KEY_BYTES = 24;
const CIPHER = 'aes-192-cbc';

/** The seal over `node:crypto`; runs everywhere. */
export class NodeSeal implements Seal {
  readonly #aesKey: KeyObject;
  readonly #macKey: KeyObject;

  /** Takes the 56 bytes of a key string. */
  constructor(key: Buffer) {
    this.#aesKey = createSecretKey(key.subarray(0, AES_KEY_BYTES));
    this.#macKey = createSecretKey(key.subarray(AES_KEY_BYTES));
  }

  seal(body: Uint8Array, nonce: string, iv: Uint8Array): Buffer {
    // Each call into OpenSSL costs more than the bytes of a small reply. One update per cipher and
    // MAC, with the padding written here, takes half the time.
    const cipher = createCipheriv(CIPHER, this.#aesKey, iv).setAutoPadding(false);
    const sealed = cipher.update(padded(body, nonce));
    const macStart = BLOCK_BYTES + sealed.length;
    const blob = Buffer.allocUnsafe(macStart + MAC_BYTES);
    blob.set(iv, 0);
    blob.set(sealed, BLOCK_BYTES);
    const mac = createHmac('sha256', this.#macKey).update(blob.subarray(0, macStart)).digest();
    blob.set(mac, macStart);
    return blob;
  }

  open(blob: Uint8Array): Buffer | undefined {
    const plain = this.#decrypt(blob);
    return startsWithPrefix(plain) ? plain.subarray(PREFIX.length) : undefined;
  }

  #decrypt(blob: Uint8Array): Buffer {
    const buffer = asBuffer(blob);
    const macStart = buffer.length - MAC_BYTES;
    if (macStart < BLOCK_BYTES) throw macError(blob);
    const mac = createHmac('sha256', this.#macKey).update(buffer.subarray(0, macStart)).digest();
    if (!timingSafeEqual(mac, buffer.subarray(macStart))) throw macError(blob);
    const length = macStart - BLOCK_BYTES;
    if (length === 0 || length % BLOCK_BYTES !== 0) throw lengthError(blob);
    const decipher = createDecipheriv(CIPHER, this.#aesKey, buffer.subarray(0, BLOCK_BYTES));
    // Salt strips as many bytes as the last one states, unchecked: the MAC was verified.
    decipher.setAutoPadding(false);
    // Whole blocks and no padding: `final` would add nothing.
    const whole = decipher.update(buffer.subarray(BLOCK_BYTES, macStart));
    const pad = whole[whole.length - 1] ?? 0;
    // As Python's data[:-pad], which is empty for a pad of 0 or beyond the length.
    return whole.subarray(0, pad === 0 || pad > whole.length ? 0 : whole.length - pad);
  }
}

function padded(body: Uint8Array, nonce: string): Buffer {
  const bodyStart = PREFIX.length + Buffer.byteLength(nonce, 'utf8');
  const end = bodyStart + body.length;
  const plain = Buffer.allocUnsafe(paddedLength(end));
  plain.set(PREFIX, 0);
  plain.write(nonce, PREFIX.length, 'utf8');
  plain.set(body, bodyStart);
  return plain.fill(plain.length - end, end);
}

function startsWithPrefix(plain: Buffer): boolean {
  return plain.length >= PREFIX.length && PREFIX.equals(plain.subarray(0, PREFIX.length));
}
