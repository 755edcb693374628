import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { resolveNatsServer } from '@brine/nats-server';
import { startNatsServer } from '@brine/nats-server';
import type { TestNats } from '@brine/testing';
import { startNats } from '@brine/testing';
import { until } from '@brine/testing/waits';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { Bus } from '../connection/connect.ts';
import { connectBus } from '../connection/connect.ts';
import { askJetStream } from '../connection/js-api.ts';
import { ensureStreams } from '../streams/ensure-streams.ts';
import { escapeKey, unescapeKey } from '../subjects/escape.ts';
import { Bucket } from './bucket.ts';
import type { BucketEntry } from './bucket-watch.ts';
import type { BucketWatch } from './bucket-watch.ts';
import { changeValue } from './change-value.ts';

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
  const revisions = await Promise.all(tries);
  expect(revisions.filter((revision) => revision !== undefined)).toHaveLength(1);
});

test('an update needs the revision that is there', async () => {
  const bucket = new Bucket(worker, 'brine_sessions');
  const key = escapeKey('m');
  const first = await bucket.create(key, Buffer.from('1'));
  const second = await bucket.update(key, Buffer.from('2'), first ?? 0);
  expect(second).toBeGreaterThan(first ?? 0);
  expect(await bucket.update(key, Buffer.from('3'), first ?? 0)).toBeUndefined();
  expect(text((await bucket.get(key))?.value)).toBe('2');
});

test('of several that change the same value each sees the change before its own', async () => {
  const bucket = new Bucket(worker, 'brine_secrets');
  const key = escapeKey('counted');
  const add = (): Promise<number> =>
    changeValue(bucket, key, (entry) => {
      const next = Number(text(entry?.value) || 0) + 1;
      return { answer: next, value: Buffer.from(String(next)) };
    });
  const counts = await Promise.all(Array.from({ length: 6 }, add));
  expect(counts.sort()).toEqual([1, 2, 3, 4, 5, 6]);
  expect(await changeValue(bucket, key, () => ({ answer: 'left alone' }))).toBe('left alone');
  expect(text((await bucket.get(key))?.value)).toBe('6');
});

/** Creates a value twice; the answer of the stream to the first send is not delivered. */
async function createTwice(bucket: Bucket): Promise<void> {
  const { inbox } = worker;
  const open = vi.spyOn(inbox, 'open').mockImplementationOnce((subject, onMessage, ...rest) => {
    open.mockRestore();
    let answers = 0;
    return inbox.open(subject, (msg) => void ((answers += 1) > 1 && onMessage(msg)), ...rest);
  });
  const key = escapeKey('twice');
  const revision = await bucket.create(key, Buffer.from('v'));
  expect(revision).toBe((await bucket.get(key))?.revision);
  expect(await bucket.create(key, Buffer.from('v'))).toBeUndefined();
}

test('a write whose acknowledgement is lost is no conflict with itself', async () => {
  await createTwice(new Bucket(worker, 'brine_secrets'));
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
  await createTwice(bucket);
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
