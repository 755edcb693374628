import { expect, test } from 'vitest';
import { at, BERLIN, shown, UTC } from '../test/zones.ts';
import { momentOf, wallOf } from './zone.ts';

test.each([
  ['2026-01-10T12:00:00', '2026-01-10T11:00:00'],
  ['2026-07-10T12:00:00', '2026-07-10T10:00:00'],
  ['2026-03-29T01:59:59', '2026-03-29T00:59:59'],
  ['2026-03-29T03:00:00', '2026-03-29T01:00:00'],
  ['2026-10-25T01:59:00', '2026-10-24T23:59:00'],
  ['2026-10-25T03:00:00', '2026-10-25T02:00:00'],
])('%s on the wall of Berlin is %s in UTC, and back', (wall, moment) => {
  expect(shown(momentOf(at(wall), BERLIN))).toBe(moment);
  expect(shown(wallOf(at(moment), BERLIN))).toBe(wall);
});

test.each(['2026-03-29T02:00:00', '2026-03-29T02:30:00', '2026-03-29T02:59:59'])(
  '%s is left out and comes right after the gap',
  (wall) => {
    expect(shown(momentOf(at(wall), BERLIN))).toBe('2026-03-29T01:00:00');
  },
);

test('a time that comes twice counts the first time', () => {
  expect(shown(momentOf(at('2026-10-25T02:30:00'), BERLIN))).toBe('2026-10-25T00:30:00');
});

test('without rules both are the same', () => {
  expect(momentOf(at('2026-10-25T02:30:00'), UTC)).toBe(at('2026-10-25T02:30:00'));
});
