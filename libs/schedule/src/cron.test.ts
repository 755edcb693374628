import { expect, test } from 'vitest';
import { at, shown } from '../test/zones.ts';
import { CronError, readCron } from './cron.ts';

test.each([
  ['*/15 * * * *', '2026-11-25T10:15:00'],
  ['0 16 * * 1-5', '2026-11-25T16:00:00'],
  ['30 4 * * sun', '2026-11-29T04:30:00'],
  ['30 4 * * 7', '2026-11-29T04:30:00'],
  ['0 0 1 jan *', '2027-01-01T00:00:00'],
  ['0 0 L * *', '2026-11-30T00:00:00'],
  ['0 0 13 * 5', '2026-11-27T00:00:00'],
  ['5/20 * * * *', '2026-11-25T10:05:00'],
  // Seconds stand after the five fields, years after them.
  ['* * * * * */20', '2026-11-25T10:00:20'],
  ['0 0 1 1 * 30 2028', '2028-01-01T00:00:30'],
  // A question mark is no day that is given, so the other field is not joined by "or".
  ['0 0 ? * 1', '2026-11-30T00:00:00'],
  ['0 0 1 * ?', '2026-12-01T00:00:00'],
  ['0 0 ? * ?', '2026-11-26T00:00:00'],
  ['@hourly', '2026-11-25T11:00:00'],
  ['@monthly', '2026-12-01T00:00:00'],
])('%s comes next at %s, as for croniter', (text, time) => {
  expect(shown(readCron(text).next(at('2026-11-25T10:00:00')))).toBe(time);
});

test.each([
  ['0 22-2 * * *', '25T22 25T23 26T00 26T01 26T02 26T22'],
  ['0 22-2/2 * * *', '25T22 26T00 26T02 26T22 27T00 27T02'],
  ['0 20-6/7 * * *', '25T20 26T04 26T20 27T04 27T20 28T04'],
  ['0 0 * * 6-1/2', '28T00 05T00 12T00 19T00 26T00 02T00'],
  ['0 0 * * 6-1', '28T00 29T00 30T00 05T00 06T00 07T00'],
  ['0 0 * * fri-mon', '27T00 28T00 29T00 30T00 04T00 05T00'],
  ['0 0 * * 7-2', '29T00 30T00 01T00 06T00 07T00 08T00'],
  ['0 0 28-3 * *', '28T00 29T00 30T00 01T00 02T00 03T00'],
  ['0 0 1 nov-feb *', '01T00 01T00 01T00 01T00 01T00 01T00'],
])('%s goes over the end of its field, as for croniter', (text, times) => {
  const cron = readCron(text);
  const found: string[] = [];
  let last: number | undefined = at('2026-11-25T10:00:00');
  while (found.length < 6) {
    last = cron.next(last!);
    found.push(shown(last)!.slice(8, 13));
  }
  expect(found.join(' ')).toBe(times);
});

test('the next time is after the given one', () => {
  const hourly = readCron('0 * * * *');
  expect(shown(hourly.next(at('2026-11-25T09:59:59.500')))).toBe('2026-11-25T10:00:00');
  expect(shown(hourly.next(at('2026-11-25T10:00:00')))).toBe('2026-11-25T11:00:00');
});

test.each([
  ...['', '* * * *', '60 * * * *', '* * * * * * * *', '@reboot', '2026-11-25T10:00:00', 'daily'],
  ...['0 0 15W * *', '0 0 30 2 *', 'R * * * *', '*/0 * * * *'],
  ...['? * * * *', '0 ? * * *', '0 0 1 ? *', '* * * * * ?', '0 0 ?/2 * *', '0 0 ?,3 * *'],
  ...['70-2 * * * *', '0 0 * * 8-2', '0 0 5-0 * *'],
])('%j is refused', (text) => {
  expect(() => readCron(text)).toThrow(CronError);
});
