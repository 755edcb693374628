import { type Appended, BusError } from '@brine/bus';
import type { Event } from '@brine/job';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
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
    ...{ kind: 'ret', tag: 'salt/job/1/ret/m', msgId: 'once' },
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
