import { expect, test } from 'vitest';
import { valueRows } from './value-rows.ts';

const GRAINS = {
  os: 'Debian',
  roles: ['web', 'db'],
  net: { eth0: { mtu: 1500 }, empty: {}, none: null },
};

test('a value has a row for each leaf, in its order', () => {
  const { rows, total, isCut } = valueRows(GRAINS, { max: 10 });
  expect(rows.map(({ path, text }) => `${path} = ${text}`)).toEqual([
    'os = Debian',
    'roles:0 = web',
    'roles:1 = db',
    'net:eth0:mtu = 1500',
    'net:empty = {}',
    'net:none = null',
  ]);
  expect([total, isCut]).toEqual([6, false]);
});

test('a word is found in paths and texts, whatever its case', () => {
  const paths = (word: string) => valueRows(GRAINS, { word, max: 10 }).rows.map(({ path }) => path);
  expect(paths('WEB')).toEqual(['roles:0']);
  expect(paths('net:')).toEqual(['net:eth0:mtu', 'net:empty', 'net:none']);
  expect(paths('nothing')).toEqual([]);
});

test('rows beyond the limit are counted', () => {
  const { rows, total } = valueRows(GRAINS, { max: 2 });
  expect([rows.length, total]).toEqual([2, 6]);
});

test('a text and nothing are one row without a path', () => {
  expect(valueRows('x', { max: 9 }).rows).toEqual([{ path: '', text: 'x' }]);
  expect(valueRows(null, { max: 9 }).rows).toEqual([{ path: '', text: 'null' }]);
});

test('hostile values are bounded: their number, their depth and their length', () => {
  let deep: unknown = 'x';
  for (let n = 0; n < 100_000; n += 1) deep = [deep];
  expect(valueRows(deep, { max: 9 })).toMatchObject({ rows: [], isCut: true });
  const wide = Object.fromEntries(Array.from({ length: 50_000 }, (_, n) => [`k${n}`, n]));
  const found = valueRows(wide, { max: 9 });
  expect([found.rows.length, found.total]).toEqual([9, 19_999]);
  const [row] = valueRows({ ['__proto__x']: 'y'.repeat(5_000) }, { max: 1 }).rows;
  expect(row?.text).toHaveLength(2_001);
});
