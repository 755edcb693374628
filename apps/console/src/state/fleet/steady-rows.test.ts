import { describe, expect, test } from 'vitest';
import { patchedPage, SteadyRows } from './steady-rows.ts';

type Row = readonly [id: string, text: string];

function steady() {
  const rows = new SteadyRows<Row>(([id]) => id);
  const take = (list: readonly Row[], total = list.length, first = 0): void =>
    rows.take(
      list.map((row, at) => ({ index: first + at, row })),
      total,
    );
  const seen = (): string[] =>
    Array.from({ length: rows.total }, (_, at) => rows.rowAt(at)?.join('') ?? '…');
  return { rows, take, seen };
}

describe('rows that one sees', () => {
  test('change in their places at once', () => {
    const { rows, take, seen } = steady();
    take([
      ['a', '1'],
      ['b', '1'],
    ]);
    take([
      ['a', '2'],
      ['b', '1'],
    ]);
    expect([seen(), rows.moved]).toEqual([['a2', 'b1'], 0]);
  });

  test('do not move until they are let, and change all the same', () => {
    const { rows, take, seen } = steady();
    take([
      ['a', '1'],
      ['b', '1'],
    ]);
    take([
      ['b', '2'],
      ['a', '3'],
    ]);
    expect([seen(), rows.moved]).toEqual([['a3', 'b2'], 2]);
    rows.release();
    expect([seen(), rows.moved]).toEqual([['b2', 'a3'], 0]);
  });

  test('stay when they are gone, and go when they are let', () => {
    const { rows, take, seen } = steady();
    take([
      ['a', '1'],
      ['b', '1'],
    ]);
    take([['a', '1']]);
    expect([seen(), rows.moved]).toEqual([['a1', 'b1'], 1]);
    rows.release();
    expect(seen()).toEqual(['a1']);
  });

  test('come at the end at once', () => {
    const { rows, take, seen } = steady();
    take([['a', '1']]);
    take([
      ['a', '1'],
      ['b', '1'],
    ]);
    expect([seen(), rows.moved]).toEqual([['a1', 'b1'], 0]);
  });

  test('are forgotten where one is far away', () => {
    const { rows, take, seen } = steady();
    take([['a', '1']], 3);
    take([['c', '1']], 3, 2);
    expect([seen(), rows.moved]).toEqual([['…', '…', 'c1'], 0]);
  });

  test('call those who watch, until they leave', () => {
    const { rows, take } = steady();
    let calls = 0;
    const leave = rows.watch(() => (calls += 1));
    take([['a', '1']]);
    leave();
    take([]);
    expect(calls).toBe(1);
  });
});

describe('a page', () => {
  const page = { first: 2, items: ['c', 'd'] };
  const at = (index: number, row: string) => ({ index, row });
  test.each([
    ['a row of it', [at(3, 'x')], 9, ['c', 'x']],
    ['rows of others', [at(1, 'x'), at(4, 'y')], 9, ['c', 'd']],
    ['a shorter list', [], 3, ['c']],
    ['a list that ends before it', [], 1, []],
  ])('is patched with %s', (_, changed, total, items) => {
    expect(patchedPage(page, changed, { size: 2, total })).toEqual({ first: 2, items });
  });

  test('grows with its list, but has no gap', () => {
    const short = { first: 2, items: ['c'] };
    const sizes = { size: 3, total: 5 };
    expect(patchedPage(short, [at(3, 'd'), at(4, 'e')], sizes)?.items).toEqual(['c', 'd', 'e']);
    expect(patchedPage(short, [at(4, 'e')], sizes)).toBeUndefined();
  });
});
