import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startNats, type TestNats } from '@brine/testing';
import { until, workTakes } from '@brine/testing/waits';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Bus } from '../connection/connect.ts';
import { subjectCounts } from '../connection/js-api.ts';
import { Bucket } from '../kv/bucket.ts';
import { append } from '../streams/append.ts';
import { streamUsage } from '../streams/trim-streams.ts';
import { escapeKey } from '../subjects/escape.ts';
import {
  type NewReaction,
  type Reaction,
  REACTION_MAX_BYTES,
  REACTION_PLACES,
} from './reaction.ts';
import { dueReactionId, eventReactionId } from './reaction.ts';
import { ReactionQueue, reactionsWaiting } from './reaction-queue.ts';
import { type QueuedReaction, ReactionReader } from './reaction-reader.ts';

const ACK_WAIT_MS = 1_500;
/** A busy machine may stall for long, and the reaction is still to stay with its process. */
const KEPT_MS = 6_000;
/** Longer than a test may take: nothing is delivered again because of the wait. */
const NEVER_MS = 300_000;

let nats: TestNats;
let bus: Bus;
const open: ReactionReader[] = [];

beforeEach(async () => {
  nats = await startNats();
  bus = await nats.connect('runner-pool');
});
afterEach(async () => {
  for (const reader of open.splice(0)) reader.close();
  await nats.close();
});

function reaction(n: number, more: Partial<NewReaction> = {}): NewReaction {
  return {
    kind: 'event',
    id: eventReactionId('EVENTS', n, 0),
    name: `salt/minion/web ${n}/start`,
    body: Buffer.from(`body ${n}`),
    timeMs: 1_700_000_000_123.456,
    ...more,
  };
}

/** Of the first place of a kind: events of the master itself, due times. */
function reader(
  on: Bus,
  kind: Reaction['kind'] = 'event',
  readAhead = 4,
  ackWaitMs = ACK_WAIT_MS,
  place = REACTION_PLACES.find((one) => one.kind === kind)!,
): ReactionReader {
  const made = new ReactionReader(on, { place, readAhead, ackWaitMs });
  open.push(made);
  return made;
}

/** Takes as many as there are to be, and says of each what a handler says. */
async function take(
  from: ReactionReader,
  count: number,
  handle: (one: QueuedReaction) => void = (one) => one.done(),
): Promise<QueuedReaction[]> {
  const taken: QueuedReaction[] = [];
  while (taken.length < count) {
    const one = await from.next();
    if (one === undefined) break;
    handle(one);
    taken.push(one);
  }
  return taken;
}

test('a reaction comes out as it went in, and leaves the queue when it is done', async () => {
  const queue = new ReactionQueue(bus);
  const link = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
  expect(await queue.add(reaction(1, { link }))).toBe('added');
  expect(await reactionsWaiting(bus)).toBe(1);
  const [one] = await take(reader(bus), 1);
  expect(one).toMatchObject({
    kind: 'event',
    id: 'event/EVENTS/1.0',
    name: 'salt/minion/web 1/start',
    link,
    timeMs: 1_700_000_000_123.456,
    deliveries: 1,
  });
  expect(Buffer.from(one?.body ?? []).toString()).toBe('body 1');
  await until('the queue is empty', async () => (await reactionsWaiting(bus)) === 0);
});

test('the same reaction is in the queue once, also when it is done already', async () => {
  const queue = new ReactionQueue(bus);
  await queue.add(reaction(1));
  expect(await queue.add(reaction(1))).toBe('known');
  await take(reader(bus), 1);
  await until('the queue is empty', async () => (await reactionsWaiting(bus)) === 0);
  expect(await queue.add(reaction(1))).toBe('known');
  expect(await reactionsWaiting(bus)).toBe(0);
});

test('processes share the queue: each reaction is in the hands of one', async () => {
  const queue = new ReactionQueue(bus);
  const second = await nats.connect('runner-pool');
  const seen: string[] = [];
  const readers = [bus, second].map((on) => reader(on, 'event', 4, NEVER_MS));
  const taking = readers.map(async (from) => {
    for (;;) {
      const one = await from.next();
      if (one === undefined) return;
      seen.push(one.id);
      one.done();
    }
  });
  for (let n = 1; n <= 200; n += 1) await queue.add(reaction(n));
  await until('all are taken', () => seen.length >= 200);
  for (const one of readers) one.close();
  await Promise.all(taking);
  expect(new Set(seen).size).toBe(200);
  expect(seen).toHaveLength(200);
});

test('a process takes no more than it says, so that others find work', async () => {
  const queue = new ReactionQueue(bus);
  for (let n = 1; n <= 10; n += 1) await queue.add(reaction(n));
  const slow = reader(bus, 'event', 2);
  const [first] = await take(slow, 1, () => undefined);
  expect(first?.id).toBe('event/EVENTS/1.0');
  const others = await take(reader(await nats.connect('runner-pool')), 6);
  expect(others).toHaveLength(6);
});

describe('a process', () => {
  test('that works for longer than the wait keeps its reaction', async () => {
    await new ReactionQueue(bus).add(reaction(1));
    const [one] = await take(reader(bus, 'event', 4, KEPT_MS), 1, () => undefined);
    const other = reader(await nats.connect('runner-pool'), 'event', 4, KEPT_MS);
    const next = other.next();
    await workTakes(KEPT_MS * 2);
    one?.done();
    other.close();
    expect(await next).toBeUndefined();
  });

  test('that dies loses it to another one', async () => {
    await new ReactionQueue(bus).add(reaction(1));
    const dying = await nats.connect('runner-pool');
    await take(reader(dying), 1, () => undefined);
    await dying.close();
    const [again] = await take(reader(bus), 1);
    expect(again).toMatchObject({ id: 'event/EVENTS/1.0', deliveries: 2 });
  });

  test('that gives it back has another one do it at once', async () => {
    await new ReactionQueue(bus).add(reaction(1));
    const leaving = reader(bus, 'event', 4, NEVER_MS);
    const [one] = await take(leaving, 1, () => undefined);
    leaving.finish();
    one?.again(0);
    const [again] = await take(reader(await nats.connect('runner-pool')), 1);
    expect(again?.deliveries).toBe(2);
  });

  test('that takes no more still keeps what it has in hand', async () => {
    await new ReactionQueue(bus).add(reaction(1));
    const leaving = reader(bus, 'event', 4, KEPT_MS);
    const [one] = await take(leaving, 1, () => undefined);
    leaving.finish();
    expect(await leaving.next()).toBeUndefined();
    const other = reader(await nats.connect('runner-pool'), 'event', 4, KEPT_MS);
    const next = other.next();
    await workTakes(KEPT_MS * 2);
    one?.done();
    other.close();
    expect(await next).toBeUndefined();
  });

  test('that lets go of it does not take it from the other one', async () => {
    await new ReactionQueue(bus).add(reaction(1));
    const stalled = reader(bus);
    const [one] = await take(stalled, 1, () => undefined);
    stalled.finish();
    one?.letGo();
    const [again] = await take(reader(await nats.connect('runner-pool')), 1, () => undefined);
    expect(again?.deliveries).toBe(2);
    expect(await reactionsWaiting(bus)).toBe(1);
    again?.done();
  });
});

/** A place by its stream and durable reader. */
const placeOf = (stream: string, durable: string) =>
  REACTION_PLACES.find((one) => one.stream === stream && one.durable === durable)!;

describe('what one source has waiting', () => {
  test('is bounded, while others and the master itself find room', async () => {
    await using small = await startNats({ limits: { totalBytes: 256 * 1024 * 1024 } });
    const on = await small.connect('runner-pool');
    const queue = new ReactionQueue(on);
    // The queue has 7.7 MiB, and one source an eighth of that.
    const body = Buffer.alloc(100_000);
    const flood = async (from: number, source: string): Promise<string[]> => {
      const ends: string[] = [];
      for (let n = from; n < from + 14; n += 1) {
        ends.push(await queue.add(reaction(n, { body, source })));
      }
      return ends;
    };
    const ends = await flood(0, 'minion a.b*>');
    const added = ends.filter((end) => end === 'added').length;
    expect(added).toBe(9);
    expect(new Set(ends.slice(added))).toEqual(new Set(['over share']));
    expect((await flood(100, 'minion other')).slice(0, 9)).not.toContain('over share');
    for (let n = 200; n < 220; n += 1) {
      expect(await queue.add(reaction(n, { body }))).toBe('added');
    }
    // What other processes added counts too, and what is done makes room.
    const second = new ReactionQueue(await small.connect('runner-pool'));
    expect(await second.add(reaction(300, { body, source: 'minion a.b*>' }))).toBe('over share');
    const place = placeOf('REACTIONS', 'events-of');
    const taken = await take(reader(on, 'event', 4, NEVER_MS, place), 5);
    expect(taken[0]).toMatchObject({ kind: 'event', id: 'event/EVENTS/0.0' });
    await until('there is room', async () => {
      return (await second.add(reaction(301, { body, source: 'minion a.b*>' }))) !== 'over share';
    });
  });

  test('is bounded by number too where the queue is', async () => {
    const queue = new ReactionQueue(bus, { mostWaiting: 16 });
    const ends: string[] = [];
    for (let n = 1; n <= 4; n += 1) ends.push(await queue.add(reaction(n, { source: 'minion a' })));
    expect(ends).toEqual(['added', 'added', 'over share', 'over share']);
    expect(await queue.add(reaction(9))).toBe('added');
  });
});

describe('a queue that is full of events', () => {
  test('leaves due times their own', async () => {
    await using small = await startNats({ limits: { totalBytes: 16 * 1024 * 1024 } });
    const on = await small.connect('runner-pool');
    const queue = new ReactionQueue(on);
    const body = Buffer.alloc(50_000);
    let end = '';
    for (let n = 1; end !== 'full'; n += 1) end = await queue.add(reaction(n, { body }));
    const due = { kind: 'due', id: dueReactionId('backup', 1_000), name: 'backup' } as const;
    expect(await queue.add(reaction(0, due))).toBe('added');
    expect(await take(reader(on, 'due'), 1)).toMatchObject([due]);
  });

  test('gives the due times that a release before this put into it', async () => {
    const before = { subject: 'brine.reactions.due', timeoutMs: 5_000 };
    const headers = { 'Brine-Reaction': 'due/backup/1000', 'Brine-Time': '1000' };
    await append(bus, { ...before, headers, payload: Buffer.from('x'), msgId: 'due/backup/1000' });
    const [one] = await take(reader(bus, 'due', 4, NEVER_MS, placeOf('REACTIONS', 'due')), 1);
    expect(one).toMatchObject({ kind: 'due', id: 'due/backup/1000' });
  });
});

test('rights of NATS that are of an older release: work goes where it went before', async () => {
  await using old = await startNats();
  const conf = join(old.dir, 'nats.conf');
  const text = await readFile(conf, 'utf8');
  const before = text.replace('"brine.reactions.>"', '"brine.reactions.*"');
  await writeFile(conf, before.replace('"brine.due.*"', '"brine.none"'));
  old.server.reload();
  await until('it is in force', async () =>
    (await readFile(old.server.logFile, 'utf8')).includes('Reloaded server configuration'),
  );
  // Those that are connected keep what they were allowed.
  const on = await old.connect('runner-pool');
  const queue = new ReactionQueue(on);
  expect(await queue.add(reaction(1, { source: 'minion a' }))).toBe('added');
  expect(await queue.add(reaction(2, { kind: 'due', id: dueReactionId('a', 1) }))).toBe('added');
  expect(await subjectCounts(on, 'REACTIONS', '>')).toEqual(
    new Map([
      ['brine.reactions.event', 1],
      ['brine.reactions.due', 1],
    ]),
  );
});

test('a due time comes through while events wait', async () => {
  const queue = new ReactionQueue(bus);
  for (let n = 1; n <= 50; n += 1) await queue.add(reaction(n));
  const due = { kind: 'due', id: dueReactionId('backup', 1_000), name: 'backup' } as const;
  await queue.add(reaction(0, due));
  const [first] = await take(reader(bus, 'due'), 1);
  expect(first).toMatchObject(due);
  expect(await reactionsWaiting(bus)).toBeGreaterThanOrEqual(50);
});

describe('a full queue', () => {
  test('refuses, and takes again when there is room', async () => {
    const queue = new ReactionQueue(bus, { mostWaiting: 3 });
    for (let n = 1; n <= 3; n += 1) expect(await queue.add(reaction(n))).toBe('added');
    expect(await queue.add(reaction(4))).toBe('full');
    await take(reader(bus), 3);
    await until('there is room', async () => (await queue.add(reaction(5))) === 'added');
  });

  test('of the disk refuses too, and other streams go on', async () => {
    await using small = await startNats({ limits: { totalBytes: 16 * 1024 * 1024 } });
    const on = await small.connect('runner-pool');
    const queue = new ReactionQueue(on);
    const body = Buffer.alloc(50_000);
    const ends: string[] = [];
    for (let n = 1; n <= 20; n += 1) ends.push(await queue.add(reaction(n, { body })));
    expect(ends.indexOf('full')).toBeGreaterThan(2);
    expect(new Set(ends.slice(ends.indexOf('full')))).toEqual(new Set(['full']));
    const usage = await streamUsage(await small.connect('event-bus'));
    expect(usage.find(({ stream }) => stream === 'REACTIONS')?.share).toBeGreaterThan(0.8);
    expect(usage.find(({ stream }) => stream === 'EVENTS')?.share).toBeLessThan(0.1);
    expect(await new Bucket(on, 'brine_reactor').put(escapeKey('a'), body)).toBeGreaterThan(0);
  });
});

test('a body that is too large for one message is refused', async () => {
  const body = Buffer.alloc(REACTION_MAX_BYTES + 1);
  await expect(new ReactionQueue(bus).add(reaction(1, { body }))).rejects.toMatchObject({
    code: 'BUS_BODY_TOO_LARGE',
  });
});

test('a value of the bucket that has an age goes by itself', async () => {
  const bucket = new Bucket(bus, 'brine_reactor');
  await bucket.put(escapeKey('kept'), Buffer.from('x'));
  await bucket.put(escapeKey('young'), Buffer.from('x'), { livesMs: 1_000 });
  expect(await bucket.get(escapeKey('young'))).toBeDefined();
  await until('it is gone', async () => (await bucket.get(escapeKey('young'))) === undefined, {
    withinMs: 15_000,
  });
  expect(await bucket.get(escapeKey('kept'))).toBeDefined();
  // Over none means over none that is there now.
  expect(await bucket.create(escapeKey('young'), Buffer.from('y'))).toBeGreaterThan(0);
});
