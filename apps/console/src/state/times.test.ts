import { expect, test } from 'vitest';
import { duration, exactTime, relativeTime } from './times.ts';

const NOW = Date.parse('2026-11-30T02:15:00.000Z');

test.each([
  ['2026-11-30T02:14:59.900000Z', 'now'],
  ['2026-11-30T02:14:30.000000Z', '30 seconds ago'],
  ['2026-11-30T02:12:01.000000Z', '2 minutes ago'],
  ['2026-11-29T23:15:00.000000Z', '3 hours ago'],
  ['2026-11-28T02:15:00.000000Z', '2 days ago'],
  ['2026-11-30T03:15:00.000000Z', 'in 1 hour'],
])('%s is %s', (time, text) => {
  expect(relativeTime(time, NOW)).toBe(text);
});

test.each([
  [0.4, '0 ms'],
  [40, '40 ms'],
  [12_345, '12.3 s'],
  [61_000, '1 min 1 s'],
  [3_900_000, '1 h 5 min'],
])('%d ms are %s', (ms, text) => {
  expect(duration(ms)).toBe(text);
});

test('UTC and local time stand beside each other, the wanted one first', () => {
  const time = '2026-11-30T09:15:00.250000Z';
  const utc = exactTime(time, 'utc');
  expect(utc.startsWith('2026-11-30 09:15:00.250000 UTC · ')).toBe(true);
  expect(utc.endsWith(' here')).toBe(true);
  const [a, b] = exactTime(time, 'local').split(' · ');
  expect(`${b} · ${a}`).toBe(utc);
});
