import { createHash, timingSafeEqual } from 'node:crypto';

/** A Buffer over the same memory; no copy. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Compares two texts in a time that does not depend on where they differ. */
export function constantTimeEqual(a: string, b: string): boolean {
  // Compares digests, because timingSafeEqual needs equal lengths and the length may be secret.
  const left = createHash('sha256').update(a, 'utf8').digest();
  const right = createHash('sha256').update(b, 'utf8').digest();
  return timingSafeEqual(left, right);
}
