import { expect, test } from 'vitest';
import { changesBetween } from './differences.ts';

test('a change has the names that lead to it', () => {
  const before = { trees: { a: { ok: 1 }, gone: true }, same: [1, 2] };
  const after = { trees: { a: { ok: 2 } }, same: [1, 2], new: null };
  expect(changesBetween(before, after)).toEqual([
    { path: 'trees > a > ok', before: '1', after: '2' },
    { path: 'trees > gone', before: 'true', after: undefined },
    { path: 'new', before: undefined, after: 'null' },
  ]);
});

test('a case is found by its name and line, a row by its first text', () => {
  const cases = (version: string, exit: number): unknown => [
    { name: 'batch/one', version, exit: 0 },
    { name: 'batch/nomatch', version, exit },
  ];
  expect(changesBetween(cases('3008.2', 0), cases('3008.5', 2))).toEqual([
    { path: 'batch/nomatch (3008) > exit', before: '0', after: '2' },
  ]);
  const moved = changesBetween(
    [
      ['1 + 1', '2'],
      ['a', '1'],
    ],
    [
      ['a', '1'],
      ['1 + 1', '3'],
    ],
  );
  expect(moved).toEqual([{ path: '1 + 1 > 1', before: '"2"', after: '"3"' }]);
});

test('the newest release of a line is compared with the one before', () => {
  const before = { '3006.26': { runner: { a: 'x' } }, '3008.2': {} };
  const after = { '3006.30': { runner: { a: 'x y' } }, '3008.5': {} };
  expect(changesBetween(before, after)).toEqual([
    { path: '3006 > runner > a', before: '"x"', after: '"x y"' },
  ]);
});

test('a list of another length is one change, and a long value is cut', () => {
  expect(changesBetween({ a: [1, 2] }, { a: [1] })).toEqual([
    { path: 'a', before: '[1,2]', after: '[1]' },
  ]);
  const [change] = changesBetween('x'.repeat(1000), null);
  expect(change?.before?.length).toBeLessThan(300);
});

test('an empty list is no empty map, and 1 is no text', () => {
  expect(changesBetween([], {})).toEqual([{ path: '', before: '[]', after: '{}' }]);
  expect(changesBetween({ a: 1 }, { a: '1' })).toHaveLength(1);
});
