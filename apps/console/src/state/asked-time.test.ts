import { expect, test } from 'vitest';
import { clockText, timeAsked } from './asked-time.ts';

const NOW = Date.parse('2026-11-30T02:15:00.000Z');

test('a clock shows milliseconds of UTC, and the day where it is another one', () => {
  expect(clockText('2026-11-30T02:13:04.120456Z', NOW)).toBe('02:13:04.120');
  expect(clockText('2026-11-29T02:13:04.120456Z', NOW)).toBe('11-29 02:13:04.120');
  expect(clockText('2025-11-30T02:13:04.120456Z', NOW)).toBe('2025-11-30 02:13:04.120');
});

test.each([
  ['02:13', '2026-11-30T02:13:00Z'],
  ['02:13:04', '2026-11-30T02:13:04Z'],
  ['2:13', '2026-11-30T02:13:00Z'],
  ['02:16', '2026-11-29T02:16:00Z'],
  ['2026-11-28 02:13', '2026-11-28T02:13:00Z'],
  ['2026-11-28T02:13:04.5', '2026-11-28T02:13:04.5Z'],
  ['2026-11-28', '2026-11-28T00:00:00Z'],
  [' 10m ', '10m'],
  ['2026-11-28T02:13:04+02:00', '2026-11-28T02:13:04+02:00'],
  ['48213-911_0a1b2c3d', '48213-911_0a1b2c3d'],
  ['29:99', '29:99'],
  ['yesterday', 'yesterday'],
  ['', ''],
])('someone who writes %j asks for %j', (text, asked) => {
  expect(timeAsked(text, NOW)).toBe(asked);
});
