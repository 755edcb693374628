import type { BucketEntry, BucketKey } from '@brine/bus';
import { SecretBox } from '@brine/crypt';
import { vectorFile } from '@brine/testing';
import { mapOf } from '@brine/wire';
import { beforeEach, expect, test } from 'vitest';
import { BucketOnce } from './once-bucket.ts';

const auth = vectorFile<{ readonly master_key: { readonly pem: string } }>('auth.json');
const box = SecretBox.fromMasterKey(auth.master_key.pem, 'once');

const entries = new Map<string, BucketEntry>();
let now = 0;
let revision = 0;
async function write(
  key: BucketKey,
  value: Uint8Array,
  expected?: number,
): Promise<number | undefined> {
  if (expected !== undefined && expected !== (entries.get(key)?.revision ?? 0)) return undefined;
  revision += 1;
  entries.set(key, { key, value, revision, timeMs: now });
  return revision;
}
const bucket = {
  create: (key: BucketKey, value: Uint8Array) => write(key, value, 0),
  update: write,
  put: async (key: BucketKey, value: Uint8Array) => (await write(key, value)) ?? 0,
  get: async (key: BucketKey) => entries.get(key),
};
const once = new BucketOnce(bucket, box, () => now);
beforeEach(() => {
  entries.clear();
  now = 1_000_000;
});

test('work that is done has its first answer, which is kept sealed', async () => {
  expect(await once.begin('k', 'a')).toEqual({ kind: 'begun' });
  await once.done('k', 'a', mapOf({ jid: 'secret' }));
  for (const by of ['a', 'b']) {
    expect(await once.begin('k', by)).toEqual({ kind: 'done', reply: mapOf({ jid: 'secret' }) });
  }
  expect(Buffer.from([...entries.values()][0]!.value).includes('secret')).toBe(false);
  await once.done('long', 'a', 'x'.repeat(5_000));
  expect(await once.begin('long', 'b')).toEqual({ kind: 'done', reply: '' });
});

test('the request that began goes on at once, another once the first can not run', async () => {
  await once.begin('k', 'a');
  expect(await once.begin('k', 'a')).toEqual({ kind: 'begun' });
  now += 29_000;
  expect(await once.begin('k', 'b')).toEqual({ kind: 'under-way' });
  now += 2_000;
  const both = await Promise.all([once.begin('k', 'b'), once.begin('k', 'c')]);
  expect(both.map(({ kind }) => kind).sort()).toEqual(['begun', 'under-way']);
});

test('work that never ended is not begun again once no caller waits for it any more', async () => {
  await once.begin('k', 'a');
  now += 301_000;
  expect(await once.begin('k', 'b')).toEqual({ kind: 'lapsed' });
});

test('a note says how long ago the first sending was, 0 for tries of its gateway', async () => {
  expect(await once.note('k', 'a')).toBe(0);
  now += 90_000;
  expect(await once.note('k', 'b')).toBe(90_000);
  now += 30_000;
  expect(await once.note('k', 'b')).toBe(120_000);
  expect(await once.note('k', 'a')).toBe(0);
  expect(await once.note('other', 'b')).toBe(0);
});

test('what was noted and not written is new, and noted again by its next sending', async () => {
  await once.note('k', 'a');
  await once.unnote('k', 'a');
  now += 120_000;
  expect(await once.note('k', 'b')).toBe(0);
  now += 120_000;
  expect(await once.note('k', 'c')).toBe(120_000);
});

test('work under the nonce of an event counts as done, and does not wait', async () => {
  await once.note('k', 'a');
  expect(await once.begin('k', 'b')).toEqual({ kind: 'done', reply: '' });
});
