import type { TestNats } from '@brine/testing';
import { startNats } from '@brine/testing';
import { until } from '@brine/testing/waits';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Bus } from '../connection/connect.ts';
import { askJetStream } from '../connection/js-api.ts';
import { ensureStreams } from '../streams/ensure-streams.ts';
import { escapeKey, unescapeKey } from '../subjects/escape.ts';
import { Bucket } from './bucket.ts';
import { type BucketChange, BucketFollower } from './bucket-follower.ts';

let nats: TestNats;
let owner: Bus;
let bucket: Bucket;

beforeAll(async () => {
  nats = await startNats();
  owner = await nats.connect('event-bus');
  bucket = new Bucket(await nats.connect('worker-pool'), 'brine_minions');
}, 600_000);

afterAll(() => nats.close());

const value = Buffer.from('x'.repeat(1_000));

/** The keys that come until the bucket was read to its end, in order. */
async function keysOf(follower: BucketFollower): Promise<string[]> {
  const keys: string[] = [];
  do {
    const changes: readonly BucketChange[] = await follower.take(100);
    keys.push(...changes.map(({ key }) => unescapeKey(key)));
    follower.done(changes);
  } while (!follower.caughtUp);
  return keys;
}

test('every key comes once, then what changes, and later what changed since', async () => {
  for (let n = 0; n < 600; n += 1) await bucket.put(escapeKey(`k${n % 300}`), value);
  const follower = await BucketFollower.open(owner, 'brine_minions');
  const first = await keysOf(follower);
  expect(new Set(first).size).toBe(300);
  expect(first.length).toBe(300);
  const next = follower.take(100);
  await bucket.put(escapeKey('new.one'), value);
  const changes = await next;
  expect(changes).toMatchObject([{ key: escapeKey('new.one') }]);
  expect(Math.abs((changes[0]?.timeMs ?? 0) - Date.now())).toBeLessThan(5_000);
  follower.done(changes);
  const { place } = follower;
  follower.close();
  for (const key of ['k1', 'k2', 'k1']) await bucket.put(escapeKey(key), value);
  const again = await BucketFollower.open(owner, 'brine_minions', place);
  expect(await keysOf(again)).toEqual(['k2', 'k1']);
  again.close();
  expect(await again.take(1)).toEqual([]);
});

test('a place in a bucket that was made again is none in the new one', async () => {
  const before = await BucketFollower.open(owner, 'brine_minions');
  await keysOf(before);
  const { place } = before;
  before.close();
  await askJetStream(owner, 'STREAM.DELETE.KV_brine_minions', undefined);
  await ensureStreams(owner, { totalBytes: 1024 ** 3 / 2 });
  await until('the bucket takes a value', () => bucket.put(escapeKey('first'), value));
  const after = await BucketFollower.open(owner, 'brine_minions', place);
  expect(await keysOf(after)).toEqual(['first']);
  expect(after.place.incarnation).not.toBe(place.incarnation);
  after.close();
});
