import { startNats, type TestNats } from '@brine/testing';
import { headers } from '@nats-io/nats-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Bus, connectBus } from '../connection/connect.ts';
import { VERSION_HEADER } from '../connection/message-version.ts';
import { EventReader } from '../events/event-reader.ts';
import { EventWriter } from '../events/event-writer.ts';
import { PublicationReader } from '../jobs/publication-reader.ts';
import { PublicationWriter } from '../jobs/publication-writer.ts';
import { Bucket } from '../kv/bucket.ts';
import { readStray } from '../stray-reader.ts';
import { type Aside, handleEach, TRIES_MAX } from './asides.ts';
import type { Delivery } from './pull-feed.ts';
import type { Stray } from './stray.ts';
import { StreamReader } from './stream-reader.ts';

let nats: TestNats;
let bus: Bus;
let told: Aside[] = [];
let places = 0;

beforeAll(async () => {
  nats = await startNats();
});
afterAll(() => nats.close());

beforeEach(async () => {
  told = [];
  const onAside = (aside: Aside): void => void told.push(aside);
  bus = await connectBus({
    url: nats.urls['worker-pool'],
    name: 'worker-pool',
    onQuarantined: onAside,
  });
  places += 1;
});
afterEach(() => bus.close());

/** Tags of events as they are handled, until the last of them. */
async function handled(reader: EventReader, bad: string, last: string): Promise<string[]> {
  const seen: string[] = [];
  await handleEach(reader, (event) => {
    seen.push(event.tag);
    if (event.tag === last) reader.close();
    if (event.tag === bad) throw new Error('not this one');
    event.ack();
  });
  return seen;
}

test('an event that can not be handled stops no live reader, and is reported', async () => {
  const writer = new EventWriter(bus);
  const reader = new EventReader(bus, { kinds: ['local'] });
  await expect.poll(() => reader.reading).toBe(true);
  for (const tag of ['one', 'bad', 'two']) {
    await writer.append({ kind: 'local', tag: `${tag}${places}`, body: Buffer.from('x') });
  }
  const seen = await handled(reader, `bad${places}`, `two${places}`);
  expect(seen).toEqual(['one', 'bad', 'two'].map((tag) => `${tag}${places}`));
  expect(told).toMatchObject([{ stream: 'EVENTS', reader: 'live', why: 'not this one' }]);
  expect(bus.asides.counts).toEqual([{ stream: 'EVENTS', reader: 'live', count: 1 }]);
});

test('a durable reader gets it again, some times, and others meanwhile; then it moves aside', async () => {
  const reader = new EventReader(bus, { kinds: ['local'], durable: 'tried', from: 'new' });
  await expect.poll(() => reader.reading).toBe(true);
  const writer = new EventWriter(bus);
  const event = (tag: string): Promise<unknown> =>
    writer.append({ kind: 'local', tag, body: Buffer.from('x') });
  await event('bad');
  await event('good');
  const tries: string[] = [];
  const deliveries: number[] = [];
  await handleEach(reader, (one) => {
    tries.push(one.tag);
    if (one.tag === 'good') return one.ack();
    deliveries.push(one.deliveries);
    if (deliveries.length === 3) {
      reader.close();
      return one.ack();
    }
    throw new Error('not this one');
  });
  expect(tries.slice(0, 2).sort()).toEqual(['bad', 'good']);
  expect(deliveries).toEqual([1, 2, 3]);
  expect(told).toEqual([]);
});

test('a message that was tried as often as it may is settled, counted and reported', () => {
  const reader = new StreamReader(bus, { stream: 'EVENTS', durable: 'tried-out', from: 'new' });
  const settled: string[] = [];
  const delivery = (deliveries: number): Delivery => ({
    subject: 's',
    data: Buffer.from(''),
    header: () => '',
    headers: () => '',
    settle: (how) => void settled.push(how),
    seq: 5,
    consumerSeq: 1,
    timeUs: 0,
    pending: 0,
    deliveries,
  });
  reader.failed(delivery(TRIES_MAX - 1), new Error('again'));
  reader.failed(delivery(TRIES_MAX), new Error('still'));
  reader.close();
  expect(settled).toEqual(['-NAK {"delay":2000000000}', '+TERM']);
  const place = { stream: 'EVENTS', reader: 'tried-out', subject: 's', seq: 5 };
  expect(told).toEqual([{ ...place, why: 'still' }]);
});

test('a publication that no reader can read stops none of them', async () => {
  const writer = new PublicationWriter(bus);
  const strays: Stray[] = [];
  const keepStray = (stray: Stray): void => void strays.push(stray);
  const live = new PublicationReader(bus, { kinds: ['marker'] });
  const durable = new PublicationReader(bus, {
    kinds: ['marker'],
    durable: 'kept',
    from: 'new',
    keepStray,
  });
  await expect.poll(() => live.reading && durable.reading).toBe(true);
  const subject = 'brine.publications.marker';
  const reference = headers();
  // A body larger than any may be.
  reference.set('Brine-Body', `pub.${'0'.repeat(32)}.106.111000000`);
  bus.connection.publish(subject, '', { headers: reference });
  for (const data of ['no JSON', '{"epoch":"x"}', '{"epoch":1e300}', '{"epoch":null}']) {
    bus.connection.publish(subject, data);
  }
  await writer.appendMarker({ epoch: 7 });
  for (const reader of [live, durable]) {
    for await (const published of reader) {
      published.ack();
      expect(published).toMatchObject({ kind: 'marker', marker: { epoch: 7 } });
      reader.close();
    }
  }
  expect(bus.asides.counts).toEqual([{ stream: 'PUBLICATIONS', reader: 'live', count: 5 }]);
  expect(strays.map(({ data }) => Buffer.from(data).toString())).toEqual([
    '',
    'no JSON',
    '{"epoch":"x"}',
    '{"epoch":1e300}',
    '{"epoch":null}',
  ]);
  for (const stray of strays) stray.ack();
});

test('a stray is read again as it stood, once a release can', async () => {
  const strays: Stray[] = [];
  const reader = new EventReader(bus, {
    kinds: ['key'],
    keepStray: (one) => void strays.push(one),
  });
  await expect.poll(() => reader.reading).toBe(true);
  const newer = headers();
  newer.set('Brine-Tag', 'a/tag');
  newer.set(VERSION_HEADER, '99');
  bus.connection.publish('brine.events.key', 'body', { headers: newer });
  await new EventWriter(bus).append({ kind: 'key', tag: 'end', body: Buffer.from('x') });
  for await (const event of reader) {
    expect(event.tag).toBe('end');
    reader.close();
  }
  const [stray] = strays;
  expect(stray).toMatchObject({ subject: 'brine.events.key', stream: 'EVENTS' });
  expect(await readStray(bus, stray!)).toBeUndefined();
  const headersNow = stray!.headers.replace('99', '1');
  const read = await readStray(bus, { ...stray!, headers: headersNow });
  expect(read).toMatchObject([{ kind: 'key', tag: 'a/tag' }]);
});

test('an entry of a bucket that its watcher can not take is passed over, and it is ready', async () => {
  const bucket = new Bucket(bus, 'brine_minions');
  const seen: string[] = [];
  const watch = bucket.watch({
    onChange: ({ key }) => {
      if (key === `bad${places}`) throw new Error('no key of ours');
      seen.push(key);
    },
    onReset: () => undefined,
  });
  await watch.whenReady();
  for (const key of ['bad', 'good']) {
    bus.connection.publish(`$KV.brine_minions.${key}${places}`, 'x');
  }
  await expect.poll(() => seen).toContain(`good${places}`);
  expect(watch.ready).toBe(true);
  expect(told).toMatchObject([{ stream: 'KV_brine_minions', why: 'no key of ours' }]);
  watch.close();
});
