import { createHash, randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { digestOf, hexDigestOf } from './digest.ts';

test.each([10, 100_000])('pieces of %d bytes give the digest of the whole', (size) => {
  const pieces = [randomBytes(size), Buffer.alloc(0), randomBytes(3), randomBytes(size)];
  const whole = createHash('sha256').update(Buffer.concat(pieces)).digest('hex');
  expect(digestOf('sha256', pieces).toString('hex')).toBe(whole);
  expect(hexDigestOf('sha256', Buffer.concat(pieces))).toBe(whole);
});
