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
  expect(await trimStreams(owner)).toEqual([{ stream: 'EVENTS', messages: stored.length }]);
  vi.useRealTimers();
  expect(await append(writer, MANY)).toBe(stored.length + 1);
}, 60_000);

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
}, 60_000);

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
      withinMs: 20_000,
    });
    expect(next).toBeGreaterThan(stored.at(-1) ?? Infinity);
    for (const seq of stored) {
      const [event] = await eventsAt(worker, seq);
      expect(BODY.equals(await (event?.fetch() ?? Buffer.alloc(0))), `event ${seq}`).toBe(true);
    }
  },
  90_000,
);
