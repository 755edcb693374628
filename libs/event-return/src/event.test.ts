import { mapOf, pack, type SaltValue, unpackMap, WireError } from '@brine/wire';
import { expect, test } from 'vitest';
import { dataJson, eventId, eventLine, eventMap, eventToReturn, type FedEvent } from './event.ts';

const TIME_MS = Date.UTC(2026, 10, 26, 5, 50, 40) + 123.456;
const STAMP = '2026-11-26T05:50:40.123456+00:00';

function fed(kind = 'minion'): FedEvent {
  return {
    kind,
    tag: 'salt/beacon/m1/load',
    jid: '20261126000000000000',
    minion: 'm1',
    timeMs: TIME_MS,
    size: 10,
    body: () => Promise.reject(new Error('not asked for')),
    position: '1-1_00000000',
  };
}

const packed = (data: Record<string, SaltValue>): Buffer => pack(mapOf(data));
const dataOf = (data: Uint8Array) =>
  Object.fromEntries(unpackMap(data)) as Record<string, SaltValue>;

test('an event gets the time of the stream as its stamp, whatever its sender says', () => {
  const event = eventToReturn(fed(), packed({ load: 1, _stamp: 'never' }), 1_000);
  expect(dataOf(event.data)).toEqual({ load: 1, _stamp: STAMP });
  expect(dataJson(event)).toBe(`{"load":1,"_stamp":"${STAMP}"}`);
  expect(eventLine(event)).toBe(
    `{"tag":"salt/beacon/m1/load","data":{"load":1,"_stamp":"${STAMP}"}}\n`,
  );
  expect(eventMap(event)).toEqual(
    mapOf({ tag: 'salt/beacon/m1/load', data: mapOf({ load: 1, _stamp: STAMP }) }),
  );
});

test('an event of a local tool keeps the stamp that the tool gave it', () => {
  const event = eventToReturn(fed('local'), packed({ _stamp: 'mine' }), 1_000);
  expect(dataOf(event.data)).toEqual({ _stamp: 'mine' });
  const bare = eventToReturn(fed('local'), packed({ a: 1 }), 1_000);
  expect(dataOf(bare.data)).toEqual({ a: 1, _stamp: STAMP });
});

test('large values are trimmed as on the event socket, and a body that is gone is named', () => {
  const large = eventToReturn(fed(), packed({ a: 'x'.repeat(2_000), b: 1 }), 1_000);
  expect(dataOf(large.data)).toEqual({ a: 'VALUE_TRIMMED', b: 1, _stamp: STAMP });
  const gone = eventToReturn(fed(), undefined, 1_000);
  expect(dataOf(gone.data)).toEqual({
    jid: '20261126000000000000',
    id: 'm1',
    return: 'VALUE_TRIMMED',
    _stamp: STAMP,
  });
});

test('what JSON lacks stands in the escape forms of the job cache', () => {
  const event = eventToReturn(fed(), packed({ nul: 'a\0b', nan: NaN }), 1_000);
  expect(JSON.parse(dataJson(event))).toEqual({
    nul: { $text: 'YQBi' },
    nan: { $float: 'nan' },
    _stamp: STAMP,
  });
});

test('a body that is no map is no event', () => {
  expect(() => eventToReturn(fed(), pack('text'), 1_000)).toThrow(WireError);
});

test('an event has the same id at each try, and another one has another', () => {
  const event = eventToReturn(fed(), packed({ a: 1 }), 1_000);
  const again = eventToReturn({ ...fed(), position: '9-9_00000000' }, packed({ a: 1 }), 1_000);
  expect(eventId(again)).toBe(eventId(event));
  const other = eventToReturn(fed(), packed({ a: 2 }), 1_000);
  const later = eventToReturn({ ...fed(), timeMs: TIME_MS + 1 }, packed({ a: 1 }), 1_000);
  expect(new Set([event, other, later].map(eventId)).size).toBe(3);
});
