import { createHash, timingSafeEqual } from 'node:crypto';

/** Compares two secrets in a time that does not depend on them. */
export function sameSecret(one: string, other: string): boolean {
  return timingSafeEqual(sha256(one), sha256(other));
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text, 'utf8').digest();
}
