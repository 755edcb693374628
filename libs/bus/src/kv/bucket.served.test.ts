import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { resolveNatsServer } from '@brine/nats-server';
import { startNatsServer } from '@brine/nats-server';
import type { TestNats } from '@brine/testing';
import { startNats } from '@brine/testing';
import { until } from '@brine/testing/waits';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Bus } from '../connection/connect.ts';
import { connectBus } from '../connection/connect.ts';
import { askJetStream } from '../connection/js-api.ts';
import { ensureStreams } from '../streams/ensure-streams.ts';
import { escapeKey, unescapeKey } from '../subjects/escape.ts';
import { Bucket } from './bucket.ts';
import type { BucketEntry } from './bucket-watch.ts';
import type { BucketWatch } from './bucket-watch.ts';

let nats: TestNats;
let worker: Bus;
let owner: Bus;

beforeAll(async () => {
  nats = await startNats();
  worker = await nats.connect('worker-pool');
  owner = await nats.connect('event-bus');
}, 600_000);

afterAll(() => nats.close());

const text = (value: Uint8Array | undefined): string => Buffer.from(value ?? []).toString();

/** A watch that keeps a copy, as its users do. */
function follow(
  bucket: Bucket,
  checkMs: number,
): { watch: BucketWatch; copy: Map<string, string> } {
  const copy = new Map<string, string>();
  const watch = bucket.watch({
    checkMs,
    onChange: (entry) => copy.set(unescapeKey(entry.key), text(entry.value)),
    onReset: () => copy.clear(),
  });
  return { watch, copy };
}

async function all(bucket: Bucket): Promise<BucketEntry[]> {
  const entries: BucketEntry[] = [];
  for await (const entry of bucket.entries()) entries.push(entry);
  return entries;
}

test('a value that was put is got, with its revision', async () => {
  const bucket = new Bucket(worker, 'brine_keys');
  const key = escapeKey('web1.example.com');
  expect(await bucket.get(key)).toBeUndefined();
  const revision = await bucket.put(key, Buffer.from('one'));
  const entry = await bucket.get(key);
  expect(entry).toMatchObject({ key, revision });
  expect(text(entry?.value)).toBe('one');
  expect(Math.abs((entry?.timeMs ?? 0) - Date.now())).toBeLessThan(5_000);
});

test('of several that create the same key one wins', async () => {
  const bucket = new Bucket(worker, 'brine_secrets');
  const key = escapeKey('aes', '1');
  const tries = Array.from({ length: 8 }, (_, n) => bucket.create(key, Buffer.from(`key ${n}`)));
  const results = await Promise.allSettled(tries);
  const won = results.filter((result) => result.status === 'fulfilled');
  expect(won.length).toBe(1);
  for (const result of results) {
    if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'BUS_CONFLICT' });
  }
});

test('an update needs the revision that is there', async () => {
  const bucket = new Bucket(worker, 'brine_sessions');
  const key = escapeKey('m');
  const first = await bucket.create(key, Buffer.from('1'));
  const second = await bucket.update(key, Buffer.from('2'), first);
  expect(second).toBeGreaterThan(first);
  await expect(bucket.update(key, Buffer.from('3'), first)).rejects.toMatchObject({
    code: 'BUS_CONFLICT',
  });
  expect(text((await bucket.get(key))?.value)).toBe('2');
});

test('reads go to the leader where replicas may be behind, and find the same', async () => {
  const made = await askJetStream(owner, 'STREAM.INFO.KV_brine_minions', undefined);
  const config = made.ok ? (made.value['config'] as Record<string, unknown>) : {};
  const change = { ...config, allow_direct: false };
  expect(await askJetStream(owner, 'STREAM.UPDATE.KV_brine_minions', change)).toMatchObject({
    ok: true,
  });
  const bucket = new Bucket(worker, 'brine_minions');
  expect(await bucket.get(escapeKey('none'))).toBeUndefined();
  const revision = await bucket.put(escapeKey('a.b'), Buffer.from([0, 255]));
  const entry = await bucket.get(escapeKey('a.b'));
  expect(entry?.revision).toBe(revision);
  expect([...(entry?.value ?? [])]).toEqual([0, 255]);
});

test('the entries are the last value of each key', async () => {
  const bucket = new Bucket(worker, 'brine_requests');
  expect(await all(bucket)).toEqual([]);
  for (let n = 0; n < 1_500; n++) await bucket.put(escapeKey(`k${n % 700}`), Buffer.from(`${n}`));
  const entries = await all(bucket);
  expect(entries.length).toBe(700);
  expect(new Set(entries.map(({ key }) => key)).size).toBe(700);
  expect(Math.min(...entries.map(({ value }) => Number(text(value))))).toBe(800);
});

test('a watch gives what is there, then each change', async () => {
  const bucket = new Bucket(worker, 'brine_keys');
  await bucket.put(escapeKey('before'), Buffer.from('1'));
  const { watch, copy } = follow(bucket, 10_000);
  await watch.whenReady();
  expect(copy.get('before')).toBe('1');
  await bucket.put(escapeKey('after'), Buffer.from('2'));
  await until('the last change is heard', () => copy.get('after') === '2');
  expect(watch.ready).toBe(true);
  watch.close();
  await expect(watch.whenReady()).rejects.toMatchObject({ code: 'BUS_CLOSED' });
});

test('a watch notices that its bucket was deleted and made again, and forgets', async () => {
  await using own = await startNats();
  const [bus, writing] = await Promise.all([own.connect('event-bus'), own.connect('worker-pool')]);
  const bucket = new Bucket(writing, 'brine_keys');
  for (const id of ['a', 'b', 'c']) await bucket.put(escapeKey(id), Buffer.from('old'));
  const { watch, copy } = follow(bucket, 200);
  await watch.whenReady();
  expect(copy.size).toBe(3);
  await askJetStream(bus, 'STREAM.DELETE.KV_brine_keys', undefined);
  await until('the watch has lost its bucket', () => !watch.ready);
  await ensureStreams(bus, { totalBytes: 1024 ** 3 / 2 });
  for (const id of ['d', 'e', 'f', 'g']) await bucket.put(escapeKey(id), Buffer.from('new'));
  await until('all is read again', () => watch.ready && copy.has('g'));
  expect([...copy.keys()]).toEqual(['d', 'e', 'f', 'g']);
  expect(watch.resets).toBe(1);
  watch.close();
});

test('a watch over a restore of an older copy forgets keys that are gone', async () => {
  const binary = await resolveNatsServer({ env: process.env });
  const dir = `${nats.dir}-restore`;
  let server = await startNatsServer({ binary, dir, maxFileStore: 1024 ** 3 });
  const bus = await connectBus({ url: server.urls['event-bus'], name: 'event-bus' });
  await ensureStreams(bus);
  const bucket = new Bucket(bus, 'brine_keys');
  await bucket.put(escapeKey('kept'), Buffer.from('1'));
  await server.stop();
  await cp(join(dir, 'jetstream'), join(dir, 'copy'), { recursive: true });
  server = await startNatsServer({ binary, dir, maxFileStore: 1024 ** 3 });
  const { watch, copy } = follow(bucket, 10_000);
  await watch.whenReady();
  for (const id of ['x', 'y']) await bucket.put(escapeKey(id), Buffer.from('2'));
  await until('all three are read', () => copy.size === 3);

  await server.stop();
  await until('the watch has lost its bucket', () => !watch.ready);
  await rm(join(dir, 'jetstream'), { recursive: true });
  await cp(join(dir, 'copy'), join(dir, 'jetstream'), { recursive: true });
  server = await startNatsServer({ binary, dir, maxFileStore: 1024 ** 3 });
  await until('all is read again', () => watch.ready);
  expect([...copy]).toEqual([['kept', '1']]);
  await bucket.put(escapeKey('kept'), Buffer.from('revoked'));
  await until('the change is heard', () => copy.get('kept') === 'revoked');
  watch.close();
  await bus.close();
  await server.stop();
  await rm(dir, { recursive: true, force: true });
});
