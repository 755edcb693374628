import { mapOf, pack, type SaltValue, textOf } from '@brine/wire';
import { expect, test } from 'vitest';
import { functionRows, SHOWN } from './function-rows.ts';

const spec = (args: SaltValue, defaults: SaltValue = null, more: object = {}) =>
  mapOf({ args, defaults, varargs: null, kwargs: null, ...more });

test('parameters have the defaults of the last ones, as Python writes them', () => {
  const docs = mapOf({ 'pkg.installed': 'Ensures.', 'pkg.held': null, pkg: 'A module.' });
  const specs = mapOf({
    'pkg.installed': spec(['name', 'version', 'refresh'], [null, true], { kwargs: true }),
    'pkg.held': spec(['name'], ["it's"], { varargs: true }),
    'pkg.latest': spec(null, null, { varargs: true, kwargs: true }),
  });
  const { rows, left } = functionRows([{ kind: 'state', docs, specs }], 'minion 3008.5');
  expect(left).toBe(0);
  const row = (name: string, parameters: SaltValue, open: SaltValue, doc = '') =>
    mapOf({ kind: 'state', name, parameters, open, doc, source: 'minion 3008.5' });
  const optional = (name: string, text: string) => mapOf({ name, required: false, default: text });
  expect([...rows.values()]).toEqual([
    row('pkg.held', [optional('name', '"it\'s"')], 'args'),
    row(
      'pkg.installed',
      [
        mapOf({ name: 'name', required: true, default: null }),
        optional('version', 'None'),
        optional('refresh', 'True'),
      ],
      'kwargs',
      'Ensures.',
    ),
    row('pkg.latest', [], 'any'),
  ]);
});

test('without parameters from its source a function may take any', () => {
  const docs = mapOf({ 'a.b': 'x' });
  for (const specs of [undefined, mapOf({}), mapOf({ 'a.b': 'text' })]) {
    const { rows } = functionRows([{ kind: 'runner', docs, specs }], 'site');
    expect(rows.get('runner a.b')?.get('open')).toBe('any');
    expect(rows.get('runner a.b')?.get('parameters')).toEqual([]);
  }
});

test('names, parameters and texts of a hostile minion are left out', () => {
  const docs = mapOf({
    'a.\u001b[2J': 'x',
    'a b.c': 'x',
    nothing: 'x',
    [`${'a'.repeat(101)}.b`]: 'x',
    '__proto__.x': 'x',
    'a.b': Buffer.from('bytes'),
  });
  docs.set(7, 'x');
  const specs = mapOf({
    'a.b': spec(['ok', 'not ok', 7, 'x'.repeat(101)], ['d'.repeat(5_000)]),
    'a.c': 'text',
    'a.d': spec('text', 7),
  });
  const { rows } = functionRows([{ kind: 'module', docs, specs }], 'm');
  expect([...rows.keys()]).toEqual([
    'module __proto__.x',
    'module a.b',
    'module a.c',
    'module a.d',
  ]);
  const row = rows.get('module a.b');
  expect(row?.get('doc')).toBe('');
  expect(row?.get('parameters')).toEqual([mapOf({ name: 'ok', required: true, default: null })]);
  expect(rows.get('module a.d')?.get('parameters')).toEqual([]);
});

test('a long default is cut, and so is the list of parameters', () => {
  const names = Array.from({ length: 500 }, (_, at) => `p${at}`);
  const specs = mapOf({ 'a.b': spec(names, [...names.slice(1), 'd'.repeat(5_000)]) });
  specs.set('a.c', spec(['x'], ['d'.repeat(5_000)]));
  const { rows } = functionRows([{ kind: 'module', docs: mapOf({}), specs }], 'm');
  expect(rows.get('module a.b')?.get('parameters')).toHaveLength(SHOWN.parameters);
  const [x] = rows.get('module a.c')?.get('parameters') as Map<string, string>[];
  expect(x?.get('default')).toHaveLength(SHOWN.defaultLength + 4);
});

test('long documentation is cut between characters, with a mark', () => {
  const docs = mapOf({
    'a.b': `x${'é'.repeat(SHOWN.docBytes)}`,
    'a.c': 'x'.repeat(SHOWN.docBytes),
  });
  const { rows } = functionRows([{ kind: 'module', docs }], 'm');
  const doc = textOf(rows.get('module a.b') ?? mapOf({}), 'doc') ?? '';
  expect(Buffer.byteLength(doc)).toBeLessThanOrEqual(SHOWN.docBytes + 6);
  expect(doc).toMatch(/^xé+ \[…\]$/);
  expect(rows.get('module a.c')?.get('doc')).toHaveLength(SHOWN.docBytes);
});

test('functions and bytes are limited, and those left out are counted', () => {
  const many = Object.fromEntries(Array.from({ length: 6_000 }, (_, at) => [`a.f${at}`, 'x']));
  const few = functionRows([{ kind: 'module', docs: mapOf(many) }], 'm');
  expect([few.rows.size, few.left]).toEqual([SHOWN.functions, 1_000]);
  const long = 'x'.repeat(SHOWN.docBytes);
  const large = Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`a.f${at}`, long]));
  const { rows, left } = functionRows([{ kind: 'module', docs: mapOf(large) }], 'm');
  expect(rows.size + left).toBe(500);
  expect(pack([...rows.values()]).length).toBeLessThan(SHOWN.bytes + 1_024);
  expect(rows.size).toBeGreaterThan(100);
});
