import type { TestNats } from '@brine/testing';
import { startNats } from '@brine/testing';
import { until } from '@brine/testing/waits';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Bus } from '../connection/connect.ts';
import { askJetStream, streamInfo } from '../connection/js-api.ts';
import { NEWEST_READ } from '../connection/message-version.ts';
import type { EventMessage } from '../events/event-reader.ts';
import { EventReader, eventsAt } from '../events/event-reader.ts';
import { EventWriter } from '../events/event-writer.ts';
import { append } from './append.ts';
import { ensureStreams } from './ensure-streams.ts';
import { PullFeed } from './pull-feed.ts';
import { StreamReader } from './stream-reader.ts';
import { streamUsage, trimStreams } from './trim-streams.ts';

let nats: TestNats;
let worker: Bus;
let owner: Bus;
let store: Bus;

beforeAll(async () => {
  nats = await startNats();
  owner = await nats.connect('event-bus');
  worker = await nats.connect('worker-pool');
  store = await nats.connect('job-cache-returner');
}, 600_000);

afterAll(() => nats.close());

const empty = Buffer.from([0x80]);

async function firstOf<T>(reader: AsyncIterable<T>, count: number): Promise<T[]> {
  const items: T[] = [];
  for await (const item of reader) if (items.push(item) === count) break;
  return items;
}

test('an event comes out as it went in, with its place and time', async () => {
  const writer = new EventWriter(worker);
  const tag = 'salt/job/2026/ret/wéb 1';
  const before = Date.now();
  const { seq } = await writer.append({
    kind: 'ret',
    tag,
    body: Buffer.from([0x81, 0x01, 0x02]),
    msgId: 'ret:2026:wéb 1:x',
    jid: '2026',
    minion: 'wéb 1',
    link: '00-1-2-01',
  });
  const reader = new EventReader(store, { from: { seq } });
  const [event] = await firstOf(reader, 1);
  expect(event).toMatchObject({
    tag,
    kind: 'ret',
    jid: '2026',
    minion: 'wéb 1',
    link: '00-1-2-01',
  });
  expect(event).toMatchObject({ seq, size: 3, deliveries: 1 });
  expect(Buffer.from((await event?.fetch()) ?? [])).toEqual(Buffer.from([0x81, 0x01, 0x02]));
  expect(event?.timeMs).toBeGreaterThanOrEqual(before - 5);
  expect(Date.parse(event?.incarnation ?? '')).toBeLessThanOrEqual(before);
  reader.close();
});

test('an event that is stored already counts as a duplicate, and can be read there', async () => {
  const writer = new EventWriter(worker);
  const event = { kind: 'auth', tag: 'salt/auth', body: empty, msgId: 'auth:1' } as const;
  const first = await writer.append(event);
  const again = await writer.append({ ...event, body: Buffer.from([0x90]) });
  expect(first.duplicate).toBe(false);
  expect(again).toEqual({ seq: first.seq, duplicate: true });
  const [stored] = await eventsAt(worker, again.seq);
  expect(stored).toMatchObject({ tag: 'salt/auth', seq: first.seq });
  expect(Buffer.from((await stored?.fetch()) ?? [])).toEqual(empty);
});

test('a message that only a newer release reads is neither lost nor in the way', async () => {
  const newer = { 'Brine-Tag': 'newer', 'Brine-Version': String(NEWEST_READ + 1) };
  const subject = 'brine.events.sighting';
  await append(worker, { subject, payload: empty, headers: newer, timeoutMs: 4_000 });
  await new EventWriter(worker).append({ kind: 'sighting', tag: 'known', body: empty });
  const durable = 'newer-and-known';
  const reader = new EventReader(owner, { kinds: ['sighting'], durable, from: 'all' });
  const [event] = await firstOf(reader, 1);
  expect(event?.tag).toBe('known');
  expect(reader.newer).toBe(1);
  event?.ack();
  await until('one delivery is left without an acknowledgement', async () => {
    const info = await askJetStream(owner, `CONSUMER.INFO.EVENTS.${durable}`, undefined);
    expect(info).toMatchObject({ ok: true, value: { num_ack_pending: 1 } });
    return true;
  });
  reader.close();
});

test('a body of 20 MB goes by reference and comes back whole', async () => {
  const body = Buffer.alloc(20_000_000);
  for (let at = 0; at < body.length; at += 4_096) body.writeUInt32BE(at, at);
  const { seq } = await new EventWriter(worker).append({ kind: 'ret', tag: 'big', body });
  const reader = new EventReader(store, { from: { seq } });
  const [event] = await firstOf(reader, 1);
  expect(event?.body).toBeUndefined();
  expect(event?.size).toBe(body.length);
  expect(Buffer.compare((await event?.fetch()) ?? empty, body)).toBe(0);
  reader.close();
});

test('a durable reader gets again only the messages that it did not acknowledge', async () => {
  const writer = new EventWriter(worker);
  for (const tag of ['k1', 'k2', 'k3']) await writer.append({ kind: 'key', tag, body: empty });
  const options = { durable: 'again', kinds: ['key'], ackWaitMs: 500 } as const;
  const one = new EventReader(owner, options);
  const [first] = await firstOf(one, 1);
  expect(first?.tag).toBe('k1');
  first?.ack();
  await owner.flush();
  one.close();
  const other = new EventReader(owner, options);
  const rest = await firstOf(other, 2);
  expect(rest.map((event) => event.tag).sort()).toEqual(['k2', 'k3']);
  for (const event of rest) event.ack();
  other.close();
});

test('a message that is refused by nak comes again after its delay', async () => {
  await new EventWriter(worker).append({ kind: 'local', tag: 'later', body: empty });
  const reader = new EventReader(owner, { durable: 'nak', kinds: ['local'] });
  const seen: number[] = [];
  for await (const event of reader) {
    seen.push(event.deliveries);
    if (event.deliveries === 2) {
      event.ack();
      break;
    }
    event.nak(50);
  }
  expect(seen).toEqual([1, 2]);
  reader.close();
});

test('a message of a foreign writer is passed over', async () => {
  const writer = new EventWriter(worker);
  const { seq } = await writer.append({ kind: 'syndic', tag: 'before', body: empty });
  worker.connection.publish('brine.events.syndic', '{"stream":"brine_bodies","seq":1}');
  await writer.append({ kind: 'syndic', tag: 'after', body: empty });
  const reader = new EventReader(store, { from: { seq }, kinds: ['syndic'] });
  const events = await firstOf(reader, 2);
  expect(events.map((event) => event.tag)).toEqual(['before', 'after']);
  expect(reader.strays).toBe(1);
  reader.close();
});

test('a reader that follows goes on over a reconnect, without a gap and in order', async () => {
  const writer = new EventWriter(worker, { timeoutMs: 10_000 });
  const reader = new EventReader(owner, { from: 'new', kinds: ['minion'] });
  const reading = firstOf(reader, 400);
  await until('the reader reads', () => reader.reading);
  for (let n = 0; n < 400; n++) {
    await writer.append({ kind: 'minion', tag: `m${n}`, body: empty, msgId: `m${n}` });
    if (n === 200) await owner.connection.reconnect();
  }
  const events = await reading;
  expect(events.map((event) => event.tag)).toEqual(Array.from({ length: 400 }, (_, n) => `m${n}`));
  reader.close();
});

test('many events at once are all acknowledged, each with a sequence of its own', async () => {
  const writer = new EventWriter(worker);
  const appends = Array.from({ length: 2_000 }, (_, n) =>
    writer.append({ kind: 'job', tag: 'many', body: empty, msgId: `many:${n}` }),
  );
  const seqs = (await Promise.all(appends)).map(({ seq }) => seq);
  expect(new Set(seqs).size).toBe(2_000);
});

test('the owner trims messages that all durable readers have and that are old enough', async () => {
  await using own = await startNats();
  const [bus, writing] = await Promise.all([own.connect('event-bus'), own.connect('worker-pool')]);
  const writer = new EventWriter(writing);
  const big = Buffer.alloc(300_000);
  for (let n = 0; n < 5; n++) {
    await writer.append({ kind: 'ret', tag: `t${n}`, body: n === 0 ? big : empty });
  }
  expect(await trimStreams(bus, { keepMs: 0 })).toEqual([]); // not read yet
  const reader = new EventReader(bus, { durable: 'store' });
  const events: EventMessage[] = await firstOf(reader, 5);
  for (const event of events.slice(0, 3)) event.ack();
  await bus.flush();
  expect(await trimStreams(bus)).toEqual([]); // too young
  const slow = new EventReader(bus, { durable: 'other', kinds: ['ret'] });
  for (const event of (await firstOf(slow, 5)).slice(0, 2)) event.ack();
  await bus.flush();
  expect(await trimStreams(bus, { keepMs: 0 })).toEqual([{ stream: 'EVENTS', messages: 2 }]);
  const usage = await streamUsage(bus);
  expect(usage.find(({ stream }) => stream === 'EVENTS')).toMatchObject({ messages: 3 });
  // The body is kept longer than the event, as one is stored before the other.
  expect(usage.find(({ stream }) => stream === 'brine_kept_bodies')).toMatchObject({ messages: 1 });
  reader.close();
  slow.close();
});

test('a full stream refuses at once and says so', async () => {
  await using own = await startNats({ streams: false });
  const bus = await own.connect('event-bus');
  await ensureStreams(bus, { totalBytes: 4_000_000 });
  const writer = new EventWriter(bus);
  const body = Buffer.alloc(200_000);
  const filling = async (): Promise<void> => {
    for (let n = 0; n < 20; n++) await writer.append({ kind: 'ret', tag: 'fill', body });
  };
  await expect(filling()).rejects.toMatchObject({ code: 'BUS_STREAM_FULL', retryable: true });
});

test('an append waits for a stream that comes late, and gives up at its time', async () => {
  await using own = await startNats({ streams: false });
  const [bus, writing] = await Promise.all([own.connect('event-bus'), own.connect('worker-pool')]);
  const event = { kind: 'ret', tag: 'early', body: empty, msgId: 'e' } as const;
  await expect(new EventWriter(writing, { timeoutMs: 300 }).append(event)).rejects.toMatchObject({
    code: 'BUS_STREAM_AWAY',
  });
  const held = new EventWriter(writing, { timeoutMs: 5_000 }).append(event);
  await ensureStreams(bus);
  expect(await held).toEqual({ seq: 1, duplicate: false });
});

test('a reader notices that its stream was made again, and reads it from its start', async () => {
  await using own = await startNats();
  const bus = await own.connect('event-bus');
  const writer = new EventWriter(bus);
  for (let n = 0; n < 3; n++) await writer.append({ kind: 'ret', tag: `old${n}`, body: empty });
  const reader = new EventReader(bus, { from: 'all' });
  const durable = new EventReader(bus, { durable: 'd' });
  const old = await firstOf(reader, 3);
  for (const event of await firstOf(durable, 3)) event.ack();
  await askJetStream(bus, 'STREAM.DELETE.EVENTS', undefined);
  await ensureStreams(bus);
  await writer.append({ kind: 'ret', tag: 'fresh', body: empty });
  for (const one of [reader, durable]) {
    const [event] = await firstOf(one, 1);
    expect(event).toMatchObject({ tag: 'fresh', seq: 1 });
    expect(event?.incarnation).not.toBe(old[0]?.incarnation);
    expect(one.resets).toBe(1);
    one.close();
  }
});

test('a place in a stream that is gone is not one in the stream that was made again', async () => {
  await using own = await startNats();
  const bus = await own.connect('event-bus');
  const writer = new EventWriter(bus);
  const fill = async (): Promise<string> => {
    for (let n = 0; n < 3; n++) await writer.append({ kind: 'ret', tag: `tag${n}`, body: empty });
    return (await streamInfo(bus, 'EVENTS'))?.incarnation ?? '';
  };
  const incarnation = await fill();
  await askJetStream(bus, 'STREAM.DELETE.EVENTS', undefined);
  await ensureStreams(bus);
  const another = await fill();
  const from = { seq: 3, incarnation };
  const reader = new StreamReader(bus, { stream: 'EVENTS', from });
  const read: number[] = [];
  while (read.length < 3) {
    for (const received of await reader.take(10)) {
      expect(received.incarnation).toBe(another);
      read.push(received.seq);
    }
  }
  expect(read).toEqual([1, 2, 3]);
  expect(reader.resets).toBe(1);
  reader.close();
  const start = { deliver_policy: 'by_start_sequence', opt_start_seq: 3 };
  await expect(
    PullFeed.open(bus, { stream: 'EVENTS', incarnation, start }, () => undefined),
  ).rejects.toMatchObject({ code: 'BUS_STREAM_AWAY' });
});

test('a reader whose pending messages are trimmed has caught up once the server is idle', async () => {
  await using own = await startNats();
  const [manager, bus] = await Promise.all([own.connect('event-bus'), own.connect('worker-pool')]);
  const writer = new EventWriter(bus);
  for (let n = 0; n < 20; n++) await writer.append({ kind: 'local', tag: `t/${n}`, body: empty });
  const reader = new StreamReader(bus, { stream: 'EVENTS', from: 'all', readAhead: 4 });
  await until('the read-ahead is used up', () => reader.waiting === 4);
  await askJetStream(manager, 'STREAM.PURGE.EVENTS', {});
  expect((await reader.take(4)).map(({ pending }) => pending)).toEqual([19, 18, 17, 16]);
  expect(reader.caughtUp).toBe(false);
  await until('it has caught up', () => reader.caughtUp);
  await writer.append({ kind: 'local', tag: 'next', body: empty });
  expect(await reader.take(1)).toMatchObject([{ seq: 21, followsOn: false }]);
  await writer.append({ kind: 'local', tag: 'last', body: empty });
  expect(await reader.take(1)).toMatchObject([{ seq: 22, followsOn: true }]);
  reader.close();
});

test('a reader that was even does not count so while more is stored than it may hold', async () => {
  await using own = await startNats();
  const bus = await own.connect('worker-pool');
  const writer = new EventWriter(bus);
  const reader = new StreamReader(bus, { stream: 'EVENTS', from: 'all', readAhead: 4 });
  await until('it is even with nothing', () => reader.caughtUp);
  for (let n = 0; n < 8; n++) await writer.append({ kind: 'local', tag: `t/${n}`, body: empty });
  await until('the read-ahead is used up', () => reader.waiting === 4);
  await reader.take(4);
  expect([reader.waiting, reader.caughtUp]).toEqual([0, false]);
  await until('the rest came', () => reader.waiting === 4);
  await reader.take(4);
  await until('it is even again', () => reader.caughtUp);
  reader.close();
});
