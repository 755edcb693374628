import { createHash, timingSafeEqual } from 'node:crypto';

/** A Buffer over the same memory; no copy. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Compares two texts in a time that does not depend on where they differ. */
export function constantTimeEqual(a: string, b: string): boolean {
  // Over digests, because timingSafeEqual wants equal lengths and the length may be secret too.
  const left = createHash('sha256').update(a, 'utf8').digest();
  const right = createHash('sha256').update(b, 'utf8').digest();
  return timingSafeEqual(left, right);
}
