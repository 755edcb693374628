import { mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { expect, test } from 'vitest';
import { addRows, sqlQueries } from './sql-rows.ts';

// The cases of Salt's own tests: tests/pytests/unit/pillar/test_sqlcipher.py and its siblings.
const ABCD = [
  [1, 2, 3, 4],
  [1, 2, 5, 6],
];

function pillarOf(args: SaltValue, fields: string[], rows: SaltValue[][]): SaltMap {
  const result: SaltMap = new Map();
  for (const query of sqlQueries(args)) addRows(result, query, fields, rows);
  return result;
}

const query = (rules: Record<string, SaltValue> = {}): SaltMap =>
  mapOf({ query: 'SELECT a, b, c, d', ...rules });

test('all fields but the last are keys', () => {
  const made = pillarOf(['SELECT'], ['a', 'b', 'c', 'd'], ABCD);
  expect(made).toEqual(
    new Map([
      [
        1,
        new Map([
          [
            2,
            new Map([
              [3, 4],
              [5, 6],
            ]),
          ],
        ]),
      ],
    ]),
  );
});

test('fields beyond the depth stand under their names, later rows win', () => {
  const made = pillarOf(
    [query({ depth: 1 })],
    ['a', 'b', 'c'],
    [
      [1, 2, 3],
      [1, 4, 5],
    ],
  );
  expect(made).toEqual(
    new Map([
      [
        1,
        new Map<SaltValue, SaltValue>([
          ['b', 4],
          ['c', 5],
        ]),
      ],
    ]),
  );
});

test('as_list joins values that would be replaced', () => {
  const made = pillarOf(
    [query({ as_list: true })],
    ['a', 'b'],
    [
      [1, 2],
      [1, 3],
      [4, 5],
    ],
  );
  expect(made).toEqual(
    new Map<SaltValue, SaltValue>([
      [1, [2, 3]],
      [4, 5],
    ]),
  );
});

test('with_lists makes lists of maps', () => {
  const made = pillarOf(
    [query({ with_lists: '1' })],
    ['a', 'b', 'c'],
    [
      [1, 2, 3],
      [1, 4, 5],
    ],
  );
  expect(made).toEqual(new Map([[1, [3, 5]]]));
});

test('queries with a name stand under it, in the order of their names', () => {
  const made = pillarOf(mapOf({ two: 'SELECT', one: ['SELECT', 1] }), ['a', 'b'], [[1, 2]]);
  expect([...made.keys()]).toEqual(['one', 'two']);
  expect(made.get('two')).toEqual(new Map([[1, 2]]));
});

test('ignore_null leaves out null values', () => {
  const made = pillarOf(
    [query({ ignore_null: true })],
    ['a', 'b'],
    [
      [1, null],
      [2, 3],
    ],
  );
  expect(made).toEqual(new Map([[2, 3]]));
});

test('as_json takes a map as it is', () => {
  const value = mapOf({ x: [1] });
  expect(pillarOf([query({ as_json: true })], ['j'], [[value]])).toEqual(value);
});

test('an entry without a query is left out', () => {
  expect(sqlQueries(['', [], mapOf({ depth: 1 })])).toEqual([]);
});
