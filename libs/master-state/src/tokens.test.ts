import { generateKeyPairSync } from 'node:crypto';
import type { BucketEntry, BucketKey } from '@brine/bus';
import { SecretBox } from '@brine/crypt';
import type { TokenRecord } from '@brine/master';
import { expect, test } from 'vitest';
import { keyOfToken, sealToken, sweepTokens } from './tokens.ts';

const NOW = 1_800_000_000;

function boxOf(): SecretBox {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return SecretBox.fromMasterKey(
    String(privateKey.export({ type: 'pkcs8', format: 'pem' })),
    'token',
  );
}

const recordOf = (expire: number): TokenRecord => ({
  start: 1,
  expire,
  name: 'fred',
  eauth: 'pam',
});

/** A bucket in memory, whose writes may conflict. */
function bucketOf(values: Readonly<Record<string, Uint8Array>>, conflicts: readonly string[] = []) {
  const left = new Map(Object.entries(values));
  const conflicting = conflicts.map(keyOfToken);
  return {
    left,
    async *entries(): AsyncGenerator<BucketEntry, void> {
      let revision = 0;
      for (const [token, value] of Object.entries(values)) {
        revision += 1;
        yield await Promise.resolve({ key: keyOfToken(token), value, revision, timeMs: 0 });
      }
    },
    update(key: BucketKey, value: Uint8Array): Promise<number | undefined> {
      // It was renewed.
      if (conflicting.includes(key)) return Promise.resolve(undefined);
      for (const token of left.keys()) if (keyOfToken(token) === key) left.set(token, value);
      return Promise.resolve(9);
    },
  };
}

test('expired tokens go, others stay: valid, taken back, renewed, of another key', async () => {
  const box = boxOf();
  const values = {
    old: sealToken(box, 'old', recordOf(NOW - 1)),
    valid: sealToken(box, 'valid', recordOf(NOW + 1)),
    renewed: sealToken(box, 'renewed', recordOf(NOW - 1)),
    gone: new Uint8Array(0),
    foreign: sealToken(boxOf(), 'foreign', recordOf(NOW - 1)),
  };
  const bucket = bucketOf(values, ['renewed']);
  expect(await sweepTokens(bucket, box, NOW, new AbortController().signal)).toBe(1);
  const kept = [...bucket.left].filter(([, value]) => value.length > 0).map(([token]) => token);
  expect(kept).toEqual(['valid', 'renewed', 'foreign']);
});

test('a run that is lost stops', async () => {
  const box = boxOf();
  const bucket = bucketOf({ old: sealToken(box, 'old', recordOf(NOW - 1)) });
  expect(await sweepTokens(bucket, box, NOW, AbortSignal.abort())).toBe(0);
});
