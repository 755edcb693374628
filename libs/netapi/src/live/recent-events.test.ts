import { expect, test } from 'vitest';
import { eventOf } from '../../test/api-scene.ts';
import { type RecentEvent, RecentEvents } from './recent-events.ts';

/** An event at a place of one of the streams. */
function at(position: string, side: RecentEvent['side'] = 'events', bytes = 10): RecentEvent {
  const packed = Buffer.alloc(bytes);
  return { ...eventOf(position), position: `${position}_00000000`, side, packed };
}

/** Events of both streams in the order in which one process read them. */
function kept(): RecentEvents {
  const recent = new RecentEvents();
  recent.begin('10-5_00000000');
  for (const event of [at('11-5'), at('11-6', 'publications'), at('12-6'), at('13-6')]) {
    recent.add(event);
  }
  return recent;
}

/** What a reader with this position gets. */
function restOf(recent: RecentEvents, position: string): string[] | undefined {
  const resumed = recent.resume(`${position}_00000000`);
  if (resumed === undefined) return undefined;
  const { seq, mixedTo, reached } = resumed;
  return recent
    .slice(seq, recent.end)
    .filter((event, n) => seq + n >= mixedTo || !reached.has(event))
    .map(({ position: place }) => place.replace(/_.*/, ''));
}

test('a reader continues after each position that was given out', () => {
  const recent = kept();
  expect(restOf(recent, '10-5')).toEqual(['11-5', '11-6', '12-6', '13-6']);
  expect(restOf(recent, '11-5')).toEqual(['11-6', '12-6', '13-6']);
  expect(restOf(recent, '11-6')).toEqual(['12-6', '13-6']);
  expect(restOf(recent, '13-6')).toEqual([]);
});

test('a reader of a process with another order gets what it has not', () => {
  const recent = kept();
  expect(restOf(recent, '13-5')).toEqual(['11-6']);
  expect(restOf(recent, '10-6')).toEqual(['11-5', '12-6', '13-6']);
});

test('a position before what is kept, or of other streams, is not served', () => {
  const recent = kept();
  expect(restOf(recent, '9-5')).toBeUndefined();
  expect(restOf(recent, '10-4')).toBeUndefined();
  expect(recent.resume('11-5_ffffffff')).toBeUndefined();
});

test('what is read again comes before what is kept, and numbers stay', () => {
  const recent = kept();
  const { end } = recent;
  recent.extend([at('9-5'), at('10-5')], '8-5_00000000');
  expect([recent.first, recent.end]).toEqual([end - 6, end]);
  expect(restOf(recent, '8-5')).toEqual(['9-5', '10-5', '11-5', '11-6', '12-6', '13-6']);
  expect(recent.before(recent.first)).toBe('8-5_00000000');
});

test('it keeps so many bytes and events, and knows where it begins', () => {
  const recent = new RecentEvents();
  recent.begin('0-0_00000000');
  for (let n = 1; n <= 40; n += 1) recent.add(at(`${n}-0`, 'events', 1024 * 1024));
  expect([recent.end - recent.first, recent.base]).toEqual([16, '24-0_00000000']);
  for (let n = 41; n <= 100_000; n += 1) recent.add(at(`${n}-0`));
  expect([recent.end - recent.first, recent.base]).toEqual([40_000, '60000-0_00000000']);
  expect(restOf(recent, '99998-0')).toEqual(['99999-0', '100000-0']);
});

test('after other streams it is empty', () => {
  const recent = kept();
  recent.begin('1-1_ffffffff');
  expect([recent.end - recent.first, recent.position]).toEqual([0, '1-1_ffffffff']);
  expect(recent.resume('11-5_00000000')).toBeUndefined();
});
