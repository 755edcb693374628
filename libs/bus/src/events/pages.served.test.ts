import { type Event, isJid, jobReturnTag } from '@brine/job';
import { startNats, type TestNats } from '@brine/testing';
import { until } from '@brine/testing/waits';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Bus } from '../connection/connect.ts';
import { askJetStream } from '../connection/js-api.ts';
import { streamUsage } from '../streams/trim-streams.ts';
import { type EventMessage, EventReader } from './event-reader.ts';
import { EventWriter } from './event-writer.ts';

const JID = '20261125080000000001';
const MIB = 1_048_576;

let nats: TestNats;
let owner: Bus;
let worker: Bus;

beforeAll(async () => {
  nats = await startNats();
  [owner, worker] = await Promise.all([nats.connect('event-bus'), nats.connect('worker-pool')]);
}, 600_000);

afterAll(() => nats.close());

function returned(minion: string, body: Buffer = Buffer.from(`of ${minion}`)): Event {
  if (!isJid(JID)) throw new Error(JID);
  return { kind: 'ret', tag: jobReturnTag(JID, minion), jid: JID, minion, body };
}

async function messages(): Promise<number> {
  const usage = await streamUsage(owner);
  return usage.find(({ stream }) => stream === 'EVENTS')?.messages ?? NaN;
}

async function read(reader: EventReader, count: number): Promise<EventMessage[]> {
  const events: EventMessage[] = [];
  for await (const batch of reader.batches(100)) {
    events.push(...batch);
    if (events.length >= count) return events;
  }
  throw new Error('the reader ended');
}

test('returns of one turn share messages, each with a place of its own', async () => {
  const writer = new EventWriter(worker);
  const before = await messages();
  const ids = Array.from({ length: 600 }, (_, n) => `m${n}`);
  // One comes twice: that is another event, in another message.
  const appended = await Promise.all([...ids, 'm7'].map((id) => writer.append(returned(id))));
  expect((await messages()) - before).toBeLessThan(8);
  expect(appended.every(({ duplicate }) => !duplicate)).toBe(true);
  const reader = new EventReader(owner, { durable: 'pages', kinds: ['ret'] });
  const events = await read(reader, 601);
  expect(events).toHaveLength(601);
  const placeOf = (minion: string | undefined, seq: number): string => `${minion} ${seq}`;
  const places = new Set(events.map(({ minion, seq }) => placeOf(minion, seq)));
  expect(places).toEqual(new Set([...ids, 'm7'].map((id, n) => placeOf(id, appended[n]!.seq))));
  expect(places.size).toBe(601);
  for (const { body, minion } of events) {
    expect(Buffer.from(body ?? []).toString()).toBe(`of ${minion}`);
  }
  for (const event of events) event.ack();
  await until('every page is acknowledged', async () => {
    const info = await askJetStream(owner, 'CONSUMER.INFO.EVENTS.pages', undefined);
    return info.ok && info.value['num_ack_pending'] === 0;
  });
  reader.close();
});

test('a page comes again until each of its returns was acknowledged', async () => {
  const writer = new EventWriter(worker);
  await Promise.all(['x', 'y', 'z'].map((id) => writer.append(returned(id))));
  const options = { durable: 'again', kinds: ['ret'], ackWaitMs: 500, from: 'last' } as const;
  const one = new EventReader(owner, options);
  for (const event of await read(one, 3)) if (event.minion !== 'y') event.ack();
  await owner.flush();
  one.close();
  const other = new EventReader(owner, options);
  const again = await read(other, 3);
  expect(again.map(({ minion, deliveries }) => [minion, deliveries])).toEqual([
    ['x', 2],
    ['y', 2],
    ['z', 2],
  ]);
  for (const event of again) event.ack();
  other.close();
});

test('a lone return, a large one and one with an id have messages of their own', async () => {
  const writer = new EventWriter(worker);
  const before = await messages();
  await writer.append(returned('alone'));
  await Promise.all([
    writer.append(returned('large', Buffer.alloc(40_000))),
    writer.append({ ...returned('known'), msgId: 'once' }),
    writer.append({ ...returned('known'), msgId: 'once' }),
    writer.append({ ...returned('other'), tag: 'salt/job/x/ret/other' }),
  ]);
  expect((await messages()) - before).toBe(4);
});

test('where a page finds no room, the returns that do are stored, and no other', async () => {
  await using small = await startNats({ limits: { totalBytes: 4 * MIB } });
  const writer = new EventWriter(await small.connect('worker-pool'));
  const stored: string[] = [];
  let refused = 0;
  for (let turn = 0; refused === 0; turn += 1) {
    const ids = Array.from({ length: 20 }, (_, n) => `m${turn}-${n}`);
    const tries = ids.map((id) => writer.append(returned(id, Buffer.alloc(7_000))));
    for (const [n, one] of (await Promise.allSettled(tries)).entries()) {
      if (one.status === 'fulfilled') stored.push(ids[n]!);
      else {
        refused += 1;
        expect(one.reason).toMatchObject({ code: 'BUS_STREAM_FULL' });
      }
    }
  }
  const reader = new EventReader(await small.connect('job-cache-returner'), { from: 'all' });
  const events = await read(reader, stored.length);
  expect(events.map(({ minion }) => minion).sort()).toEqual(stored.sort());
  // The last page was larger than what was left for it.
  expect(stored.length % 20).toBeGreaterThan(0);
  reader.close();
});
