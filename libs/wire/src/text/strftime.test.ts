import { expect, test } from 'vitest';
import { strftime, wallClock } from './strftime.ts';

const ALL = '%a %A %b %B %C %d %e %f %g %G %h %H %I %j %k %l %m %M %p %P %S %u %U %V %w %W %y %Y';

/** Each with the text of Python 3.11, in the C locale. */
test.each([
  [
    '2026-11-02T07:00:05.000042',
    'Mon Monday Nov November 20 02  2 000042 26 2026 Nov 07 07 ' +
      '306  7  7 11 00 AM am 05 1 44 45 1 44 26 2026',
  ],
  [
    '2021-01-03T00:59:59.000000',
    'Sun Sunday Jan January 20 03  3 000000 20 2020 Jan 00 12 003 ' +
      ' 0 12 01 59 AM am 59 7 01 53 0 00 21 2021',
  ],
  [
    '2024-12-30T12:30:00.999999',
    'Mon Monday Dec December 20 30 30 999999 25 2025 Dec 12 12 ' +
      '365 12 12 12 30 PM pm 00 1 52 01 1 53 24 2024',
  ],
])('%s has each part of Python', (time, text) => {
  const wall = new Date(`${time.slice(0, 19)}Z`);
  expect(strftime(wall, ALL, Number(time.slice(20)))).toBe(text);
});

test('a directive may be short for several', () => {
  const wall = new Date('2026-11-02T07:00:05Z');
  expect(strftime(wall, '%c|%D|%F|%r|%R|%T|%x|%X|%n|%t|%%|%%d')).toBe(
    'Mon Nov  2 07:00:05 2026|11/02/26|2026-11-02|07:00:05 AM|07:00|07:00:05|11/02/26|07:00:05|' +
      '\n|\t|%|%d',
  );
});

test('a flag changes how numbers are filled and words are written', () => {
  const wall = new Date('2026-11-02T07:00:05Z');
  expect(strftime(wall, '%-d %_d %0e %^a %^B %-j %_H')).toBe('2  2 02 MON NOVEMBER 306  7');
});

test('an unknown directive stays, and a time without a zone has no name of one', () => {
  expect(strftime(new Date(0), '%Q %-Q %é % [%z%Z]')).toBe('%Q %-Q %é % []');
});

test('a clock of the wall shows the local time of a moment', () => {
  const moment = new Date(2026, 10, 20, 17, 10, 37);
  expect(strftime(wallClock(moment), '%c')).toBe('Fri Nov 20 17:10:37 2026');
  expect(strftime(wallClock(moment), '%s')).toBe(String(moment.getTime() / 1000));
});
