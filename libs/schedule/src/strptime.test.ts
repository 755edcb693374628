import { expect, test } from 'vitest';
import { shown } from '../test/zones.ts';
import { FormatError, parseByFormat } from './strptime.ts';

test.each([
  ['2026-11-25T08:15:30', '%Y-%m-%dT%H:%M:%S', '2026-11-25T08:15:30'],
  ['25/11/26 8:15 PM', '%d/%m/%y %I:%M %p', '2026-11-25T20:15:00'],
  ['Nov 5 2026', '%b %d %Y', '2026-11-05T00:00:00'],
  ['November 5 2026', '%B %d %Y', '2026-11-05T00:00:00'],
  ['Wed 2026-11-25', '%a %Y-%m-%d', '2026-11-25T00:00:00'],
  ['2026 329', '%Y %j', '2026-11-25T00:00:00'],
  ['12 AM', '%I %p', '1900-01-01T00:00:00'],
  ['100%', '1%M%%', '1900-01-01T00:00:00'],
])('%s by %s is what Python reads', (text, format, time) => {
  expect(shown(parseByFormat(text, format))).toBe(time);
});

test.each([
  ['2026-11-25', '%Y-%m-%dT%H:%M:%S'],
  ['2026-02-30', '%Y-%m-%d'],
  ['2026-13-01', '%Y-%m-%d'],
  ['x', '%Q'],
  ['10 10', '%H %H'],
  ['(a+)+$', '%Y'],
])('%s by %s is refused', (text, format) => {
  expect(() => parseByFormat(text, format)).toThrow(FormatError);
});
