import type { Bucket, BucketEntry, BucketKey } from '@brine/bus';
import { expect, test } from 'vitest';
import { BucketSyndics } from './syndics.ts';

/** A bucket in memory that announces no changes. */
function bucketInMemory() {
  const records = new Map<string, Uint8Array>();
  const reads: string[] = [];
  const entry = (key: string, value: Uint8Array): BucketEntry => {
    return { key: key as BucketKey, value, revision: 1, time: 0 } as unknown as BucketEntry;
  };
  const bucket = {
    get: async (key: string) => {
      reads.push(key);
      const value = records.get(key);
      return value && entry(key, value);
    },
    put: async (key: string, value: Uint8Array) => records.set(key, value).size,
  };
  return { bucket: bucket as unknown as Bucket, records, reads, entry };
}

test('a syndic that one worker keeps another finds before its watch shows it', async () => {
  const { bucket, reads } = bucketInMemory();
  const [one, other] = [new BucketSyndics(bucket), new BucketSyndics(bucket)];
  await one.remember('syn.example');
  expect([...one.unanswering()]).toEqual(['syn.example']);
  expect(await other.isKnown('syn.example')).toBe(true);
  expect([...other.unanswering()]).toEqual(['syn.example']);
  const before = reads.length;
  await other.remember('syn.example');
  expect(reads).toHaveLength(before);
});

test('"no syndic" is believed for a while, until the watch or a start says otherwise', async () => {
  const { bucket, reads, entry } = bucketInMemory();
  const syndics = new BucketSyndics(bucket);
  expect(await syndics.isKnown('a')).toBe(false);
  expect(await syndics.isKnown('a')).toBe(false);
  expect(reads).toHaveLength(1);
  syndics.changed(entry('syndic.a', Buffer.from([1])));
  expect(await syndics.isKnown('a')).toBe(true);
  expect(await syndics.isKnown('b')).toBe(false);
  await syndics.remember('b');
  expect(await syndics.isKnown('b')).toBe(true);
});

test('under the id of a syndic a minion may answer; a deleted key ends both', async () => {
  const { bucket, records, entry } = bucketInMemory();
  const syndics = new BucketSyndics(bucket);
  await syndics.remember('a');
  await syndics.answers('a');
  expect([...syndics.unanswering()]).toEqual([]);
  expect(await syndics.isKnown('a')).toBe(true);
  const later = new BucketSyndics(bucket);
  await later.remember('a');
  expect([...later.unanswering()]).toEqual([]);
  records.set('syndic.a', Buffer.alloc(0));
  for (const one of [syndics, later]) {
    one.changed(entry('syndic.a', Buffer.alloc(0)));
    expect(await one.isKnown('a')).toBe(false);
  }
  syndics.changed(entry('userkeys.host', Buffer.from([1])));
  expect(await syndics.isKnown('host')).toBe(false);
});
