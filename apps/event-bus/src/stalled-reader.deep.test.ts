import { type ChildProcess, fork } from 'node:child_process';
import { connect, type Socket } from 'node:net';
import { EventWriter } from '@brine/bus/events';
import { loadPauses, until } from '@brine/testing/waits';
import { mapOf, pack } from '@brine/wire';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TestHost, TestMaster } from './start.fixture.ts';

/**
 * How long each part of the test lasts, in s. `BRINE_STALLED_S=300` is the long form: five minutes
 * at 5,000 events/s, which want a machine for themselves.
 */
const LASTS_S = Number(process.env['BRINE_STALLED_S'] ?? 15);
const IS_LONG = LASTS_S > 60;
const WARM_S = Math.min(LASTS_S, 15);
const EVENTS_PER_S = IS_LONG ? 5_000 : 1_000;
const PAD = 'x'.repeat(400);
const READERS = 50;
/** Events that are written at once. */
const BURST = 50;
/** So many at once make 64 MiB wait for the stalled reader before long. */
const LARGE = 'x'.repeat(250_000);
const LARGE_AT_ONCE = 16;
/** The queue of one reader, and a margin for other growth. */
const GROWTH_MAX = (64 + 96) * 1_048_576;

let master: TestMaster;
let host: TestHost;

beforeAll(async () => {
  master = await TestMaster.start();
  host = new TestHost(master);
  await host.start();
}, 600_000);
afterAll(async () => {
  await host?.close();
  await master?.close();
});

/** A message of the readers' process. */
interface Told {
  readonly ready?: number;
  /** Every reader has every event since the last such message; their slowest percent, ms. */
  readonly p99?: number;
  /** A reader that was disconnected. */
  readonly lost?: number;
}

/** Fifty readers in a process of their own, which reports how late events come. */
async function startReaders(): Promise<ChildProcess> {
  const path = new URL('./stalled-reader.fixture.ts', import.meta.url).pathname;
  const args = [host.sock('master_event_pub.ipc'), String(READERS)];
  const child = fork(path, args, { execArgv: ['--conditions=source', '--import', 'tsx'] });
  await told(child, ({ ready }) => ready === READERS);
  return child;
}

async function told(child: ChildProcess, isIt: (told: Told) => boolean): Promise<Told> {
  return new Promise((resolve, reject) => {
    const listen = (message: unknown): void => {
      const { lost } = message as Told;
      if (lost !== undefined) reject(new Error(`reader ${lost} was disconnected`));
      if (!isIt(message as Told)) return;
      child.off('message', listen);
      resolve(message as Told);
    };
    child.on('message', listen);
    child.once('exit', () => reject(new Error('the readers have ended')));
  });
}

/** The part of an event's body that the readers look for, and `pad`. */
const bodyOf = (pad: string): Buffer => pack(mapOf({ at: `@${Date.now()}`, pad }));

/** Resolves when every reader has all `count` events since the last time; their p99 in ms. */
async function allTaken(child: ChildProcess, count: number): Promise<number> {
  const taken = told(child, ({ p99 }) => p99 !== undefined);
  child.send(count);
  const { p99 = Infinity } = await taken;
  return p99;
}

/** Fires events at their rate; gives how many. */
async function fire(seconds: number): Promise<number> {
  const writer = new EventWriter(master.worker);
  const until = performance.now() + seconds * 1_000;
  let count = 0;
  const startedAt = performance.now();
  while (performance.now() < until) {
    const due = ((performance.now() - startedAt) / 1_000) * EVENTS_PER_S;
    const some = Math.min(BURST, Math.max(0, Math.ceil(due - count)));
    const body = bodyOf(PAD);
    const events = Array.from({ length: some }, (_, n) =>
      writer.append({ kind: 'local', tag: `load/${count + n}`, body }),
    );
    await Promise.all(events);
    count += some;
    if (some < BURST) await loadPauses(2);
  }
  return count;
}

/** Fires large events while all readers but the stalled one take them, until it is dropped. */
async function fillUp(child: ChildProcess): Promise<void> {
  const writer = new EventWriter(master.worker);
  const body = bodyOf(LARGE);
  await until(
    'the stalled reader is dropped',
    async () => {
      const events = Array.from({ length: LARGE_AT_ONCE }, (_, n) =>
        writer.append({ kind: 'local', tag: `load/${n}`, body }),
      );
      await Promise.all(events);
      await allTaken(child, LARGE_AT_ONCE);
      const { feeds } = host.service.status() as unknown as Status;
      return feeds.droppedReaders === 1;
    },
    { withinMs: 60_000 },
  );
}

/** Fires for the time, then returns the readers' slowest percent, in ms. */
async function part(
  child: ChildProcess,
  seconds = LASTS_S,
): Promise<{ readonly p99: number; readonly rate: number }> {
  const fired = await fire(seconds);
  return { p99: await allTaken(child, fired), rate: fired / seconds };
}

interface Status {
  readonly feeds: { readonly droppedReaders: number };
}

test(
  'a reader that stalls delays no other, costs bounded memory, and is counted',
  async () => {
    const child = await startReaders();
    // Code and buffers that get warm do not count as growth.
    await part(child, WARM_S);
    const alone = await part(child);
    const before = process.memoryUsage().rss;
    const stalled: Socket = connect(host.sock('master_event_pub.ipc'));
    stalled.pause();
    await until('the stalled reader is connected', () =>
      expect(host.service.status()).toMatchObject({ readers: READERS + 1 }),
    );
    let most = 0;
    const watching = setInterval(() => {
      most = Math.max(most, process.memoryUsage().rss - before);
    }, 100);
    const beside = await part(child);
    await fillUp(child);
    clearInterval(watching);
    const ratio = beside.p99 / alone.p99;
    process.stdout.write(
      `${beside.rate.toFixed(0)} events/s to ${READERS} readers: p99 alone ${alone.p99} ms, ` +
        `beside a stalled one ${beside.p99} ms (${ratio.toFixed(2)}), ` +
        `${Math.round(most / 1_048_576)} MiB more at most\n`,
    );
    expect(most).toBeLessThan(GROWTH_MAX);
    stalled.destroy();
    child.kill();
  },
  LASTS_S * 5_000 + 180_000,
);
