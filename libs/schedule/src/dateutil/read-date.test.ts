import { expect, test } from 'vitest';
import { DateTextError, readDate } from './read-date.ts';

/** A Wednesday. */
const NOW = Date.UTC(2026, 10, 25, 13, 30);

/** The answers of python-dateutil, with the day of NOW for what a text leaves out. */
test.each([
  ['2015, Mar 16 19:00', '2015-03-16T19:00:00.000Z'],
  ['2015, Mar 16 19:00:00.123456', '2015-03-16T19:00:00.123Z'],
  ['2015-03-16', '2015-03-16T00:00:00.000Z'],
  ['2015-03-16T19:00:05', '2015-03-16T19:00:05.000Z'],
  ['2015-03-16T19:00:05Z', '2015-03-16T19:00:05.000Z'],
  ['2015-03-16 19:00+02:00', '2015-03-16T17:00:00.000Z'],
  ['2015-03-16 19:00 -0330', '2015-03-16T22:30:00.000Z'],
  ['2015-03-16 19:00 GMT+3', '2015-03-16T22:00:00.000Z'],
  ['2015-03-16 19:00 +0300 (MSK)', '2015-03-16T16:00:00.000Z'],
  ['20150316T190005', '2015-03-16T19:00:05.000Z'],
  ['20150316190005', '2015-03-16T19:00:05.000Z'],
  ['201503161900', '2015-03-16T19:00:00.000Z'],
  ['2015', '2015-11-25T00:00:00.000Z'],
  ['2015-03', '2015-03-25T00:00:00.000Z'],
  ['16', '2026-11-16T00:00:00.000Z'],
  ['16 Mar', '2026-03-16T00:00:00.000Z'],
  ['Mar', '2026-03-25T00:00:00.000Z'],
  ['May of 99', '1999-05-25T00:00:00.000Z'],
  ['5/6/07', '2007-05-06T00:00:00.000Z'],
  ['16/03/2015', '2015-03-16T00:00:00.000Z'],
  ['24.12.2026', '2026-12-24T00:00:00.000Z'],
  ['3rd of May 2001', '2001-05-03T00:00:00.000Z'],
  ['Thu, 24 Dec 2026 08:15:00', '2026-12-24T08:15:00.000Z'],
  ['Mon', '2026-11-30T00:00:00.000Z'],
  ['Wednesday 5:00pm', '2026-11-25T17:00:00.000Z'],
  ['12am', '2026-11-25T00:00:00.000Z'],
  ['13pm', '2026-11-25T13:00:00.000Z'],
  ['10h 5m 30s', '2026-11-25T10:05:30.000Z'],
  ['2.55h', '2026-11-25T02:33:00.000Z'],
  ['12h30', '2026-11-25T12:30:00.000Z'],
  ['0001-01-01', '0001-01-01T00:00:00.000Z'],
])('%s is %s', (text, at) => {
  expect(new Date(readDate(text, NOW)).toISOString()).toBe(at);
});

test('the day of today is cut to the length of the month', () => {
  const at = readDate('Feb 2015', Date.UTC(2026, 9, 31));
  expect(new Date(at).toISOString()).toBe('2015-02-28T00:00:00.000Z');
});

test.each([
  ['nonsense', 'Unknown string format'],
  ['yesterday', 'Unknown string format'],
  ['2 days ago', 'Unknown string format'],
  ['abc 2015', 'Unknown string format'],
  ['2015 abc', 'Unknown string format'],
  ['13:00 pm', 'Unknown string format'],
  ['1 2 3 4', 'Unknown string format'],
  ['10:00 inf', 'Unknown string format'],
  ['2015-03-16 10:00-60', 'Unknown string format'],
  ['2015-03-16 10:00+24:00', 'Unknown string format'],
  ['2015-W12', 'Unknown string format'],
  [' ', 'String does not contain a date'],
  ['-', 'String does not contain a date'],
  ['2015-13-01', 'month must be in 1..12'],
  ['2015-13', 'bad month number 13; must be 1-12'],
  ['2015-02-29', 'day is out of range for month'],
  ['25:00', 'hour must be in 0..23'],
  ['19:60', 'minute must be in 0..59'],
  ['19:00:61', 'second must be in 0..59'],
  ['10000-01-01', 'year 10000 is out of range'],
  ['0000-01-01', 'year 0 is out of range'],
])('%j: %s', (text, why) => {
  expect(() => readDate(text, NOW)).toThrow(new DateTextError(`${why}: ${text}`));
});

test('a zone that is not known is refused; dateutil would leave it out', () => {
  expect(() => readDate('2015-03-16 19:00 EST', NOW)).toThrow(DateTextError);
});

test('a long text is no time, also one that dateutil reads', () => {
  expect(new Date(readDate(`${'at '.repeat(60)}2015`, NOW)).getUTCFullYear()).toBe(2015);
  for (const text of [`${'at '.repeat(70)}2015`, '1.'.repeat(100_000), '9'.repeat(100_000)]) {
    expect(() => readDate(text, NOW)).toThrow(DateTextError);
  }
});
