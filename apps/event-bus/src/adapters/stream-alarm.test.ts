import type { StreamName, StreamUsage } from '@brine/bus';
import { expect, test } from 'vitest';
import { StreamAlarm } from './stream-alarm.ts';

function usage(share: number, stream: StreamName = 'EVENTS'): StreamUsage {
  return { stream, share, messages: 1, bytes: share * 100, maxBytes: 100 };
}

function textsOf(shares: readonly number[]): string[] {
  const alarm = new StreamAlarm();
  return shares.flatMap((share) => alarm.look([usage(share)]).map(({ text }) => text));
}

test('a stream that fills is reported at 70 %, at 90 % and once it has room again', () => {
  expect(textsOf([0.1, 0.69, 0.71, 0.8, 0.91, 1, 0.95, 0.8, 0.64, 0.1])).toEqual([
    'stream EVENTS is 71 % full: is a reader behind, as the store while PostgreSQL is unreachable?',
    'stream EVENTS is 91 % full: ' +
      'once it is full returns stay without an answer and jobs are refused',
    'stream EVENTS has room again: 64 % full',
  ]);
});

test('a share that swings about a level is reported once', () => {
  expect(textsOf([0.71, 0.69, 0.71, 0.68, 0.72])).toHaveLength(1);
  expect(textsOf([0.71, 0.6, 0.71])).toHaveLength(3);
});

test('a stream that fills at once is reported once, and each stream by itself', () => {
  const alarm = new StreamAlarm();
  const both = [usage(0.99), usage(0.75, 'PUBLICATIONS')];
  expect(alarm.look(both).map(({ over }) => over)).toEqual([false, false]);
  expect(alarm.look(both)).toEqual([]);
  expect(alarm.fullest(both)).toBe(0.99);
});

test('bodies of requests may fill their stream: the oldest go', () => {
  const alarm = new StreamAlarm();
  expect(alarm.look([usage(1, 'brine_bodies')])).toEqual([]);
  expect(alarm.fullest([usage(1, 'brine_bodies')])).toBe(0);
});
