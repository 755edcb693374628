import { setImmediate as nextTurn } from 'node:timers';
import { until } from '@brine/testing/waits';
import { mapOf, pack } from '@brine/wire';
import { afterEach, expect, test } from 'vitest';
import { MemoryRecord } from '../test/memory-record.ts';
import type { FedEvent } from './event.ts';
import { type EventFeed, EventReturn } from './event-return.ts';
import { type Batch, gatheringLimits } from './gathering.ts';
import { type EventReturner, ReturnerError } from './returner.ts';

const started: EventReturn[] = [];
afterEach(async () => {
  await Promise.all(started.splice(0).map((one) => one.close()));
});

/** The bus of a cluster in memory: event n stands behind the position `n - 1`. */
class MemoryBus {
  readonly bodies: Uint8Array[] = [];
  /** Events before it are gone. */
  first = 1;
  /** The last that was taken. */
  reached = 0;

  add(count: number): void {
    for (let n = 0; n < count; n += 1) this.bodies.push(pack(mapOf({ n: this.bodies.length + 1 })));
  }

  open(from: 'now' | { readonly position: string }): EventFeed {
    let at = from === 'now' ? this.bodies.length : Number(from.position);
    const notices: { kind: string; text: string }[] = [];
    if (at + 1 < this.first) {
      notices.push({ kind: 'trimmed', text: 'Events are not kept any more.' });
      at = this.first - 1;
    }
    const { bodies } = this;
    const reached = (n: number): void => void (this.reached = n);
    return {
      get position() {
        return String(at);
      },
      unreadable: 0,
      take: async (max) => {
        await new Promise<void>((resolve) => void nextTurn(resolve));
        const taken: FedEvent[] = [];
        while (at < bodies.length && taken.length < max) {
          const body = bodies[at]!;
          at += 1;
          taken.push({
            kind: 'minion',
            tag: `t/${at}`,
            jid: undefined,
            minion: 'm',
            timeMs: at,
            size: body.length,
            body: () => Promise.resolve(body),
            position: String(at),
          });
        }
        reached(at);
        return taken;
      },
      takeNotices: () => notices.splice(0),
      close: () => undefined,
    };
  }
}

/** What a returner has, which outlives the processes that write there. */
interface Kept {
  readonly rows: string[];
  place: string | undefined;
}

type Fault = (call: number, moment: 'before' | 'after') => Promise<void> | void;

function memoryReturner(kept: Kept, keepsPlace: boolean, fault: Fault): EventReturner {
  let call = 0;
  return {
    name: 'memory',
    keepsPlace,
    open: async () => kept.place,
    write: async ({ events, from, to }: Batch) => {
      if (events.length > 0) call += 1;
      await fault(call, 'before');
      if (keepsPlace && (kept.place ?? '') !== from) throw new ReturnerError('moved', 'elsewhere');
      kept.rows.push(...events.map(({ tag }) => tag));
      if (keepsPlace) kept.place = to;
      await fault(call, 'after');
      return { rows: kept.rows.length };
    },
    writeAgain: async ({ tag }) => void kept.rows.push(tag),
    close: async () => undefined,
  };
}

/** A process that has the right to write. One that had it before dies: nothing of it is saved. */
function start(options: {
  readonly bus: MemoryBus;
  readonly record: MemoryRecord;
  readonly returner: EventReturner;
  readonly clock: { now: number };
  readonly queue?: number;
}) {
  const { bus, record, returner, clock, queue = 0 } = options;
  const counts = { returned: 0, quarantined: 0, unreadable: 0, gaps: 0 };
  const logged: string[] = [];
  const events = new EventReturn({
    returner,
    openFeed: async (from) => bus.open(from),
    now: () => (clock.now += 1),
    sleep: async (ms) => {
      clock.now += ms;
      await new Promise<void>((resolve) => void nextTurn(resolve));
    },
    retry: async (work, isOutage) => {
      for (let tries = 0; tries < 5; tries += 1) {
        try {
          return await work();
        } catch (error) {
          if (!isOutage(error)) throw error;
        }
      }
      return undefined;
    },
    quarantine: async () => ({}),
    limits: gatheringLimits(queue, 0),
    maxEventSize: 1_000,
    counts: {
      returned: (n) => void (counts.returned += n),
      quarantined: () => void (counts.quarantined += 1),
      unreadable: (n) => void (counts.unreadable += n),
      gap: () => void (counts.gaps += 1),
    },
    log: (level, text) => void logged.push(`${level}: ${text}`),
  });
  started.push(events);
  const working = events.work(record.take());
  working.catch(() => undefined);
  return { events, working, counts, logged };
}

const tags = (from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, n) => `t/${from + n}`);

function world() {
  const kept: Kept = { rows: [], place: undefined };
  return { bus: new MemoryBus(), record: new MemoryRecord(), clock: { now: 0 }, kept };
}

test('the first start begins with what comes, a later one where the one before ended', async () => {
  const { bus, record, clock, kept } = world();
  bus.add(10);
  const returner = memoryReturner(kept, false, () => undefined);
  const first = start({ bus, record, clock, returner });
  await until('the place is kept', () => record.place.position);
  bus.add(90);
  await until('all are there', () => kept.rows.length === 90);
  await first.events.close();
  expect(kept.rows).toEqual(tags(11, 100));
  expect(record.place).toEqual({ position: '100', note: { rows: 90 } });
  bus.add(5);
  const second = start({ bus, record, clock, returner });
  await until('the rest is there', () => kept.rows.length === 95);
  await second.events.close();
  expect(kept.rows).toEqual(tags(11, 105));
  expect([first.logged, second.logged, first.counts.returned]).toEqual([[], [], 90]);
});

test('what a queue has gathered is written at a stop', async () => {
  const { bus, record, clock, kept } = world();
  const returner = memoryReturner(kept, true, () => undefined);
  const { events } = start({ bus, record, clock, returner, queue: 1_000 });
  await until('it reads', () => kept.place);
  bus.add(3);
  await until('it has them', () => bus.reached === 3);
  expect([kept.rows, events.isOwner]).toEqual([[], true]);
  await events.close();
  expect(kept.rows).toEqual(tags(1, 3));
  expect(kept.place).toBe('3');
});

test.each([
  [true, 'before'],
  [true, 'after'],
  [false, 'before'],
  [false, 'after'],
] as const)('a process that dies (place kept: %s, %s the commit) loses nothing', async (...how) => {
  const [keepsPlace, moment] = how;
  for (let deathAt = 1; deathAt <= 4; deathAt += 1) {
    const { bus, record, clock, kept } = world();
    let isDying: (() => void) | undefined;
    const dying = new Promise<void>((resolve) => (isDying = resolve));
    start({
      bus,
      record,
      clock,
      queue: 7,
      returner: memoryReturner(kept, keepsPlace, (call, at) => {
        if (call !== deathAt || at !== moment) return undefined;
        isDying?.();
        // Its answer never comes.
        return new Promise<void>(() => undefined);
      }),
    });
    started.pop();
    await until('it reads', () => record.place.position);
    bus.add(40);
    await dying;
    const next = start({
      bus,
      record,
      clock,
      queue: 7,
      returner: memoryReturner(kept, keepsPlace, () => undefined),
    });
    await until('all are there', () => kept.rows.at(-1) === 't/35' || kept.rows.length >= 40);
    await next.events.close();
    if (keepsPlace) expect(kept.rows).toEqual(tags(1, 40));
    else {
      expect([...new Set(kept.rows)]).toEqual(tags(1, 40));
      expect(kept.rows.length).toBeLessThanOrEqual(47);
    }
  }
});

test('the place in NATS follows a returner that keeps its own, however much is written', async () => {
  const { bus, record, clock, kept } = world();
  const behind: number[] = [];
  const returner = memoryReturner(kept, true, (call, moment) => {
    if (moment === 'before' || call === 0) return;
    // A second for each event, and the next one is there already.
    clock.now += 1_000;
    if (call <= 50) bus.add(1);
    behind.push(kept.rows.length - Number(record.place.position));
  });
  start({ bus, record, clock, returner });
  await until('it reads', () => kept.place);
  bus.add(1);
  await until('all are there', () => kept.rows.length === 51);
  expect(Math.max(...behind)).toBeLessThanOrEqual(6);
});

test('an event that is none is passed over and counted, and the others follow', async () => {
  const { bus, record, clock, kept } = world();
  const returner = memoryReturner(kept, true, () => undefined);
  const { counts } = start({ bus, record, clock, returner });
  await until('it reads', () => kept.place);
  bus.add(1);
  bus.bodies.push(pack('no map'));
  bus.add(1);
  await until('the last is there', () => kept.rows.includes('t/3'));
  expect(kept.rows).toEqual(['t/1', 't/3']);
  expect(counts.unreadable).toBe(1);
});

test('events that the streams hold no more are logged of', async () => {
  const { bus, record, clock, kept } = world();
  kept.place = '2';
  bus.add(10);
  bus.first = 6;
  const returner = memoryReturner(kept, true, () => undefined);
  const { counts, logged } = start({ bus, record, clock, returner });
  await until('the last is there', () => kept.rows.includes('t/10'));
  expect(kept.rows).toEqual(tags(6, 10));
  expect(counts.gaps).toBe(1);
  expect(logged).toEqual(['error: events may be missing: Events are not kept any more.']);
});

test('a returner that is not there is logged of once, and nothing more is tried', async () => {
  const { bus, record, clock, kept } = world();
  const returner = memoryReturner(kept, false, () => {
    throw new ReturnerError('missing', 'no such module');
  });
  const { events, working, logged } = start({ bus, record, clock, returner });
  await expect(working).rejects.toThrow('no such module');
  expect(events.isMissing).toBe(true);
  expect(logged).toEqual(['error: events are not returned there until the master starts again']);
});

test('a process whose place was taken stops writing and waits', async () => {
  const { bus, record, clock, kept } = world();
  const returner = memoryReturner(kept, true, () => undefined);
  const { logged } = start({ bus, record, clock, returner });
  await until('it reads', () => kept.place);
  kept.place = '5';
  bus.add(10);
  await until('it goes on from the other place', () => kept.rows.includes('t/10'));
  expect(kept.rows).toEqual(tags(6, 10));
  expect(logged).toContain('info: another process may return the events now');
});

test('a process that must not write any more stops, and writes on when it may again', async () => {
  const { bus, record, clock, kept } = world();
  let isReleased = false;
  const returner = memoryReturner(kept, false, (call, moment) => {
    if (call !== 1 || moment === 'before' || isReleased) return;
    // The place of what is written now can not be saved.
    isReleased = true;
    record.take();
  });
  const { events, working, logged } = start({ bus, record, clock, returner });
  await until('it reads', () => record.place.position);
  bus.add(5);
  await working;
  expect([record.place.position, events.isOwner]).toEqual(['0', false]);
  expect(logged).toEqual(['info: another process may return the events now']);
  bus.add(5);
  void events.work(record.take());
  await until('the rest is there', () => kept.rows.includes('t/10'));
  expect(kept.rows).toEqual(tags(1, 10));
});
