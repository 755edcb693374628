import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { resolveNatsServer } from '@brine/nats-server';
import { startNatsServer } from '@brine/nats-server';
import { startNats } from '@brine/testing';
import { until } from '@brine/testing/waits';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { type Bus, connectBus } from '../connection/connect.ts';
import { BusError } from '../connection/errors.ts';
import { EventReader, eventsAt } from '../events/event-reader.ts';
import { EventWriter } from '../events/event-writer.ts';
import { Timeline } from '../timeline/timeline.ts';
import { ensureStreams } from './ensure-streams.ts';
import { streamUsage, trimStreams } from './trim-streams.ts';

const run = promisify(execFile);
const MIB = 1_048_576;
const BODY = randomBytes(100_000);
/** More than any of these streams and disks holds. */
const MANY = 1_000;

afterEach(() => vi.useRealTimers());

async function append(writer: EventWriter, n: number): Promise<number> {
  const tag = `salt/job/20261122000000000000/ret/m${n}`;
  return (await writer.append({ kind: 'ret', tag, body: BODY, msgId: `full-${n}` })).seq;
}

/** Appends until there is no room; the positions of what was acknowledged, and the refusal. */
async function fill(writer: EventWriter): Promise<{ stored: number[]; refusal: unknown }> {
  const stored: number[] = [];
  for (let n = 0; n < MANY; n += 1) {
    try {
      stored.push(await append(writer, n));
    } catch (refusal) {
      return { stored, refusal };
    }
  }
  throw new Error(`${MANY} events found room`);
}

function codeOf(error: unknown): string {
  return error instanceof BusError ? error.code : String(error);
}

/** Reads and acknowledges so many events, as the store does after its commit. */
async function take(bus: Bus, count: number): Promise<void> {
  const reader = new EventReader(bus, { durable: 'store', kinds: ['ret'] });
  let taken = 0;
  for await (const event of reader) {
    event.ack();
    if ((taken += 1) === count) break;
  }
  reader.close();
  await bus.flush();
}

/** The size of the body of each event that is kept; reading one that is gone is an error. */
async function bodiesKept(bus: Bus): Promise<readonly number[]> {
  const timeline = await Timeline.open(bus, { from: 'oldest' });
  const sizes: number[] = [];
  for (;;) {
    const some = await timeline.take(100, 5_000, true);
    if (some.length === 0) break;
    for (const event of some) sizes.push((await event.body()).length);
  }
  expect(timeline.unreadable).toBe(0);
  timeline.close();
  return sizes;
}

test('a stream that is full refuses, and has room once its readers are done', async () => {
  await using nats = await startNats({ limits: { totalBytes: 4 * MIB } });
  const owner = await nats.connect('event-bus');
  const writer = new EventWriter(await nats.connect('worker-pool'));
  const store = await nats.connect('job-cache-returner');
  const { stored, refusal } = await fill(writer);
  expect(codeOf(refusal)).toBe('BUS_STREAM_FULL');
  expect((await streamUsage(owner))[0]?.share).toBeGreaterThan(0.9);
  // The reader has not read it: it stays, however old it is and however full the stream.
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3_600_000 });
  expect(await trimStreams(owner)).toEqual([]);
  vi.useRealTimers();
  await take(store, stored.length);
  // What publishers may still read stays too.
  expect(await trimStreams(owner)).toEqual([]);
  expect(codeOf(await append(writer, MANY).catch((error: unknown) => error))).toBe(
    'BUS_STREAM_FULL',
  );
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 31_000 });
  // The oldest go, and no more of them than make room.
  const [trimmed] = await trimStreams(owner);
  expect(trimmed?.stream).toBe('EVENTS');
  expect(trimmed?.messages).toBeGreaterThan(stored.length / 3);
  expect(trimmed?.messages).toBeLessThan(stored.length);
  expect((await streamUsage(owner))[0]?.share).toBeLessThan(0.45);
  expect(await trimStreams(owner)).toEqual([]);
  vi.useRealTimers();
  expect(await append(writer, MANY)).toBe(stored.length + 1);
});

test('large bodies that fill their stream go with the events that refer to them', async () => {
  await using nats = await startNats({ limits: { totalBytes: 40 * MIB } });
  const owner = await nats.connect('event-bus');
  const worker = await nats.connect('worker-pool');
  const writer = new EventWriter(worker);
  const large = randomBytes(400_000);
  const count = 12;
  for (let n = 0; n < count; n += 1) {
    await writer.append({ kind: 'ret', tag: `large/${n}`, body: large, msgId: `large-${n}` });
  }
  await take(await nats.connect('job-cache-returner'), count);
  const shareOf = async (name: string): Promise<number> =>
    (await streamUsage(owner)).find(({ stream }) => stream === name)?.share ?? NaN;
  expect(await shareOf('brine_kept_bodies')).toBeGreaterThan(0.6);
  expect(await shareOf('EVENTS')).toBeLessThan(0.1);
  expect(await trimStreams(owner, { keepMs: 86_400_000 })).toEqual([]);
  // Bodies stay for ten minutes more than what refers to them.
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3_600_000 });
  const trimmed = await trimStreams(owner, { keepMs: 86_400_000 });
  expect(trimmed).toMatchObject([{ stream: 'EVENTS' }]);
  const left = (await streamUsage(owner)).find(({ stream }) => stream === 'EVENTS')?.messages;
  expect(left).toBeGreaterThan(2);
  expect(left).toBeLessThan(count);
  expect(await bodiesKept(worker)).toEqual(Array(left).fill(large.length));
});

test('a large body stays as long as its event, and goes after it', async () => {
  await using nats = await startNats({ limits: { totalBytes: 64 * MIB } });
  const owner = await nats.connect('event-bus');
  const worker = await nats.connect('worker-pool');
  const writer = new EventWriter(worker);
  const sizes = [900_000, 100, 600_000];
  for (const [n, size] of sizes.entries()) {
    await writer.append({ kind: 'ret', tag: `aged/${n}`, body: randomBytes(size), msgId: `a${n}` });
  }
  await take(await nats.connect('job-cache-returner'), sizes.length);
  const bodies = async (): Promise<number> =>
    (await streamUsage(owner)).find(({ stream }) => stream === 'brine_kept_bodies')?.messages ??
    NaN;
  const pieces = await bodies();
  const hour = 3_600_000;
  const keep = { keepMs: 24 * hour };
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 23 * hour });
  expect(await trimStreams(owner, keep)).toEqual([]);
  expect(await bodiesKept(worker)).toEqual(sizes);
  vi.setSystemTime(Date.now() + 1.5 * hour);
  const gone = await trimStreams(owner, keep);
  expect(gone).toContainEqual({ stream: 'EVENTS', messages: sizes.length });
  expect(await bodiesKept(worker)).toEqual([]);
  await trimStreams(owner, keep);
  expect([pieces > 0, await bodies()]).toEqual([true, 0]);
});

test('messages that all have read are kept 15 minutes while there is room', async () => {
  await using nats = await startNats({ limits: { totalBytes: 4 * MIB } });
  const owner = await nats.connect('event-bus');
  const writer = new EventWriter(await nats.connect('worker-pool'));
  await append(writer, 1);
  await take(await nats.connect('job-cache-returner'), 1);
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 14 * 60_000 });
  expect(await trimStreams(owner)).toEqual([]);
  vi.setSystemTime(Date.now() + 2 * 60_000);
  expect(await trimStreams(owner)).toEqual([{ stream: 'EVENTS', messages: 1 }]);
});

test('what a reader with a place of its own still needs stays, up to 60 % of the room', async () => {
  await using nats = await startNats({ limits: { totalBytes: 40 * MIB } });
  const owner = await nats.connect('event-bus');
  const store = await nats.connect('job-cache-returner');
  const writer = new EventWriter(await nats.connect('worker-pool'));
  const shareOf = async (): Promise<number> => (await streamUsage(owner))[0]?.share ?? NaN;
  let count = 0;
  const more = async (upTo: number): Promise<void> => {
    while ((await shareOf()) < upTo) await append(writer, (count += 1));
  };
  for (; count < 3;) await append(writer, (count += 1));
  const now = await Timeline.open(store, { from: 'now' });
  const { position } = now;
  now.close();
  const [needed, day] = [[position], 86_400_000];
  await more(0.5);
  await take(store, count);
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3_600_000 });
  // The three before its place have no use for it.
  expect(await trimStreams(owner, { needed })).toEqual([{ stream: 'EVENTS', messages: 3 }]);
  expect(await trimStreams(owner, { needed })).toEqual([]);
  vi.useRealTimers();
  const first = count;
  await more(0.7);
  await take(store, count - first);
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3_600_000 });
  const [trimmed] = await trimStreams(owner, { needed, keepMs: day });
  vi.useRealTimers();
  expect(trimmed?.messages).toBeGreaterThan(0);
  // A reader that goes on from there is told of it.
  const behind = await Timeline.open(store, { from: { position } });
  const left = (await streamUsage(owner))[0]?.messages ?? 0;
  const read = await behind.take(MANY, 5_000);
  expect(read.length).toBeGreaterThan(0);
  expect(read.length).toBeLessThanOrEqual(left);
  expect(behind.takeNotices()).toMatchObject([{ kind: 'trimmed' }]);
  behind.close();
});

/** Little room for streams in a directory, and what gives them more. */
interface Scarce {
  readonly maxFileStore: number;
  readonly totalBytes: number;
  readonly makeRoom: (owner: Bus) => Promise<unknown>;
}

async function smallLimit(): Promise<Scarce> {
  const makeRoom = (owner: Bus): Promise<unknown> => ensureStreams(owner, { totalBytes: 64 * MIB });
  return { maxFileStore: 1024 * MIB, totalBytes: 12 * MIB, makeRoom };
}

/** The file system itself is full. */
async function smallDisk(dir: string): Promise<Scarce> {
  await run('mount', ['-t', 'tmpfs', '-o', 'size=32m', 'tmpfs', dir]);
  onTestFinished(async () => void (await run('umount', ['-l', dir])));
  const ballast = join(dir, 'ballast');
  await writeFile(ballast, Buffer.alloc(12 * MIB));
  const makeRoom = (): Promise<unknown> => rm(ballast);
  return { maxFileStore: 1024 * MIB, totalBytes: 512 * MIB, makeRoom };
}

const WAYS: [what: string, make: (dir: string) => Promise<Scarce>][] = [['limit', smallLimit]];
// Only root may mount one.
if (process.getuid?.() === 0) WAYS.push(['disk', smallDisk]);

test.each(WAYS)(
  'a full %s refuses, keeps what it acknowledged, and takes again once there is space',
  async (_, make) => {
    const dir = await mkdtemp(join(tmpdir(), 'brine-disk-'));
    onTestFinished(() => rm(dir, { recursive: true, force: true }));
    const { maxFileStore, totalBytes, makeRoom } = await make(dir);
    const binary = await resolveNatsServer({ env: process.env });
    const server = await startNatsServer({ binary, dir: join(dir, 'nats'), maxFileStore });
    onTestFinished(() => server.stop());
    const connect = async (name: 'event-bus' | 'worker-pool'): Promise<Bus> => {
      const bus = await connectBus({ url: server.urls[name], name, connectTimeoutMs: 10_000 });
      onTestFinished(() => bus.close());
      return bus;
    };
    const owner = await connect('event-bus');
    await ensureStreams(owner, { totalBytes });
    const worker = await connect('worker-pool');
    const writer = new EventWriter(worker);
    const { stored, refusal } = await fill(writer);
    expect(codeOf(refusal)).toMatch(/^BUS_STREAM_(FULL|AWAY)$/);
    expect(stored.length).toBeGreaterThan(50);

    await makeRoom(owner);
    const next = await until('the stream takes an event again', () => append(writer, MANY), {
      withinMs: 30_000,
    });
    expect(next).toBeGreaterThan(stored.at(-1) ?? Infinity);
    for (const seq of stored) {
      const [event] = await eventsAt(worker, seq);
      expect(BODY.equals(await (event?.fetch() ?? Buffer.alloc(0))), `event ${seq}`).toBe(true);
    }
  },
  90_000,
);
