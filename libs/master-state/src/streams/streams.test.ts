import { type Appended, BusError } from '@brine/bus';
import type { Event } from '@brine/job';
import { MasterUnavailableError } from '@brine/master';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { StreamEvents } from './streams.ts';

let room: number;
let events: StreamEvents;

beforeEach(() => {
  vi.useFakeTimers();
  room = 100;
  events = new StreamEvents({
    append: async ({ body }: Event): Promise<Appended> => {
      if (body.length > room) throw new BusError('BUS_STREAM_FULL', 'no room');
      return { seq: 1, duplicate: false };
    },
  });
});
afterEach(() => {
  vi.useRealTimers();
});

const append = (bytes: number): Promise<unknown> =>
  events.append({
    kind: 'ret',
    tag: 'salt/job/1/ret/m',
    msgId: 'once',
    body: new Uint8Array(bytes),
  });

test('after a return without room the stream counts as full for a while', async () => {
  expect(events.full).toBe(false);
  await expect(append(101)).rejects.toThrow('full');
  expect(events.full).toBe(true);
  vi.advanceTimersByTime(6_000);
  expect(events.full).toBe(false);
});

test('once one as large finds room, the stream counts as full no more', async () => {
  await expect(append(200)).rejects.toThrow('full');
  await expect(append(150)).rejects.toThrow('full');
  room = 1_000;
  await append(149);
  expect(events.full).toBe(true);
  await append(150);
  expect(events.full).toBe(false);
  // What was refused before is no measure of the next time.
  room = 0;
  await expect(append(10)).rejects.toThrow('full');
  room = 10;
  await append(10);
  expect(events.full).toBe(false);
});

describe('where returns are answered once they are stored', () => {
  const jid = '20261127171037123456';
  const body = Buffer.from('a return');
  const returned = { kind: 'ret', tag: `salt/job/${jid}/ret/m`, jid, minion: 'm', body } as const;
  let appended: number;
  let stored: boolean;
  let asked: unknown[];

  beforeEach(() => {
    appended = 0;
    stored = false;
    asked = [];
    events = new StreamEvents(
      {
        append: () => {
          appended += 1;
          return Promise.resolve({ seq: appended, duplicate: false });
        },
      },
      {
        stored: (of) => {
          asked.push(of);
          return stored ? Promise.resolve() : Promise.reject(new MasterUnavailableError('away'));
        },
      },
    );
  });

  test('bytes that are delivered again until they are stored are one event', async () => {
    for (let tries = 0; tries < 5; tries += 1) {
      await expect(events.append(returned)).rejects.toThrow('away');
    }
    stored = true;
    await events.append(returned);
    expect(appended).toBe(1);
    const first = { jid, id: 'm', seq: 1 };
    // A commit of bytes that were there before may be long past: the store is asked for it.
    expect(asked).toEqual([
      { ...first, duplicate: false },
      ...Array.from({ length: 5 }, () => ({ ...first, duplicate: true })),
    ]);
  });

  test('other bytes of the same minion are an event of their own', async () => {
    await expect(events.append(returned)).rejects.toThrow('away');
    const other = { ...returned, body: Buffer.from('another return') };
    await expect(events.append(other)).rejects.toThrow('away');
    expect(appended).toBe(2);
  });

  test('the same bytes are appended again once they have an answer, or after 30 s', async () => {
    await expect(events.append(returned)).rejects.toThrow('away');
    vi.advanceTimersByTime(29_000);
    await expect(events.append(returned)).rejects.toThrow('away');
    expect(appended).toBe(1);
    // The stream may have been put back from a copy without it.
    vi.advanceTimersByTime(1_000);
    await expect(events.append(returned)).rejects.toThrow('away');
    expect(appended).toBe(2);
    stored = true;
    await events.append(returned);
    await events.append(returned);
    expect(appended).toBe(3);
  });
});
