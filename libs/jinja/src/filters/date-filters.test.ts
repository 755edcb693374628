import { expect, test } from 'vitest';
import { renderTemplate } from '../index.ts';

/** 2026-11-26 23:30:15 UTC. */
const NOW = Date.UTC(2026, 10, 26, 23, 30, 15, 700);

function shown(value: string, format = '%Y-%m-%d %H:%M:%S'): string {
  const outside = { now: () => NOW, random: () => 0, load: () => undefined };
  const variables = new Map([
    ['value', value],
    ['format', format],
  ]);
  return renderTemplate('{{ value|strftime(format) }}', { variables, outside });
}

// Each with what Salt makes of it where timelib is installed.
test.each([
  ['2002/12/25', '2002-12-25 00:00:00'],
  ['2002-12-25', '2002-12-25 00:00:00'],
  ['2002-2-5', '2002-02-05 00:00:00'],
  ['20021225', '2002-12-25 00:00:00'],
  ['20200102', '2020-01-02 00:00:00'],
  ['20200102123456', '2020-01-02 12:34:56'],
  ['20200102T123456', '2020-01-02 12:34:56'],
  ['2002-12-25 7:08', '2002-12-25 07:08:00'],
  ['2002/12/25 17:08:09', '2002-12-25 17:08:09'],
  ['2002-12-25T17:08:09.75', '2002-12-25 17:08:09'],
  ['2000-02-29', '2000-02-29 00:00:00'],
  ['now', '2026-11-26 23:30:15'],
  ['Today', '2026-11-26 00:00:00'],
  ['tomorrow', '2026-11-27 00:00:00'],
  ['yesterday', '2026-11-25 00:00:00'],
])('%s is the date that timelib reads', (text, date) => {
  expect(shown(text)).toBe(date);
});

test('a date in a text is the same in every zone, in the hour that a clock leaves out too', () => {
  const zone = process.env['TZ'];
  try {
    process.env['TZ'] = 'Europe/Berlin';
    expect(shown('2026-03-29 02:30')).toBe('2026-03-29 02:30:00');
    expect(shown('2002/12/25', '%s')).toBe('1040770800');
    expect(shown('1040814000')).toBe('2002-12-25 12:00:00');
  } finally {
    if (zone === undefined) delete process.env['TZ'];
    else process.env['TZ'] = zone;
  }
});

// Without timelib Salt takes them for seconds since 1970.
test.each(['2002', '12345', '123456', '2002359', '20201340', '99999999', '-1', '+02', '1.5e3'])(
  '%s is no date, as only some sites would have that one',
  (text) => {
    expect(() => shown(text)).toThrow(/^Unable to parse .*: without timelib a timestamp, with it/);
  },
);

test.each([
  ...[
    '2002-02-31',
    '2002-13-01',
    '2002-12-25 24:00',
    '2002-12-25 12',
    '2002/12-25',
    '2002-12-2512:00',
  ],
  ...['2002-12-25T12:00Z', '25.12.2002', 'next week', '0000-01-01', '2002-12-25 12:00 PM', '12:00'],
  '2002-12-25'.padEnd(70),
])('%s is refused with the text of Salt without timelib', (text) => {
  expect(() => shown(text)).toThrow(`Unable to parse ${text}. Consider installing timelib`);
});
