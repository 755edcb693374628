import { expect, test } from 'vitest';
import { percentFields, percentNumber, percentText } from './percent-format.ts';

/** `format % value`, of one value. */
function written(format: string, value: string | number | bigint): string {
  return [...percentFields(format)]
    .map((part) => {
      if (typeof part === 'string') return part;
      const { flags, width = 0, precision, kind = '' } = part;
      const form = {
        flags,
        width: Number(width),
        precision: precision === undefined ? undefined : Number(precision),
        kind,
      };
      return typeof value === 'string' ? percentText(value, form) : percentNumber(value, form);
    })
    .join('');
}

// What Python 3 makes of each.
test.each([
  ['[%s]', 'ab', '[ab]'],
  ['[%5s]', 'ab', '[   ab]'],
  ['[%-5s]', 'ab', '[ab   ]'],
  ['[%05s]', 'ab', '[   ab]'],
  ['[%.1s]', 'ab', '[a]'],
  ['[%4.2s]', 'a\u{1f600}b', '[  a\u{1f600}]'],
  ['[%3s]', '\u{1f600}', '[  \u{1f600}]'],
  ['[%d]', 42, '[42]'],
  ['[%5d]', -42, '[  -42]'],
  ['[%05d]', -42, '[-0042]'],
  ['[%-05d]', 42, '[42   ]'],
  ['[%+d]', 42, '[+42]'],
  ['[% d]', 42, '[ 42]'],
  ['[%.4d]', 42, '[0042]'],
  ['[%ld]', 42, '[42]'],
  ['[%d]', 3.9, '[3]'],
  ['[%d]', 12345678901234567890n, '[12345678901234567890]'],
  ['[%x]', 255, '[ff]'],
  ['[%#06X]', 255, '[0X00FF]'],
  ['[%#o]', 8, '[0o10]'],
  ['[%.1f]', 0.25, '[0.2]'],
  ['[%06.2f]', -1.5, '[-01.50]'],
  ['[%e]', 12345, '[1.234500e+04]'],
  ['[%g]', 0.00001, '[1e-05]'],
])('%s %% %s', (format, value, expected) => {
  expect(written(format, value)).toBe(expected);
});

test('a format is cut into texts and fields', () => {
  expect([...percentFields('a%%b%(name)-8.3s')]).toEqual([
    'a',
    expect.objectContaining({ kind: '%', name: undefined }),
    'b',
    { name: 'name', flags: '-', width: '8', precision: '3', kind: 's', at: 15 },
  ]);
  expect([...percentFields('%(name)')]).toMatchObject([{ name: 'name', kind: undefined }]);
  expect([...percentFields('%*.*f')]).toMatchObject([{ width: '*', precision: '*', kind: 'f' }]);
});
