import { mapOf, pack } from '@brine/wire';
import { expect, test } from 'vitest';
import { eventData } from './event-data.ts';

const TIME = Date.UTC(2026, 10, 26, 3, 4, 5, 6) + 0.007;
const STAMP = '2026-11-26T03:04:05.006007+00:00';

test('an event has the stamp of its stream, and that of a local tool its own', () => {
  const bare = pack(mapOf({ a: 1 }));
  const stamped = pack(mapOf({ _stamp: 'own' }));
  expect(eventData(bare, TIME, 'ret')).toEqual(mapOf({ a: 1, _stamp: STAMP }));
  expect(eventData(stamped, TIME, 'ret')).toEqual(mapOf({ _stamp: STAMP }));
  expect(eventData(stamped, TIME, 'local')).toEqual(mapOf({ _stamp: 'own' }));
  expect(eventData(bare, TIME)).toEqual(mapOf({ a: 1, _stamp: STAMP }));
});

test('what is no map is an empty one', () => {
  for (const bytes of [Buffer.from([0xc1]), Buffer.alloc(0), pack('text')]) {
    expect(eventData(bytes, TIME, 'minion')).toEqual(mapOf({ _stamp: STAMP }));
  }
});
