import { wholeNumber } from '../arguments.ts';
import { JinjaError, valueError } from '../errors.ts';
import { MAX_LENGTH } from '../limits.ts';
import { tupleOf } from './values.ts';

/** Values in all rows together. */
const MAX_VALUES = MAX_LENGTH / 256;

/** Checks the size before the first row is made. @throws JinjaError (Limit) */
export function checkRows(rows: number, size: number): void {
  if (rows * Math.max(size, 1) > MAX_VALUES) {
    throw new JinjaError('Limit', 'a list grew too long');
  }
}

/** Python's `itertools.product`. @throws JinjaError (Limit) */
export function product(lists: readonly (readonly unknown[])[]): unknown[] {
  let rows: unknown[][] = [[]];
  checkRows(
    lists.reduce((total, { length }) => total * length, 1),
    lists.length,
  );
  for (const list of lists) {
    checkRows(rows.length * list.length, lists.length);
    rows = rows.flatMap((row) => list.map((item) => [...row, item]));
  }
  return rows.map((row) => tupleOf(row));
}

/** Python's `itertools.combinations`. @throws JinjaError (Limit) */
export function combinations(list: readonly unknown[], given: unknown): unknown[] {
  const size = wholeNumber(given);
  if (size > list.length) return [];
  let count = 1;
  const fewer = Math.min(size, list.length - size);
  for (let at = 0; at < fewer; at += 1) {
    count = (count * (list.length - at)) / (at + 1);
    checkRows(count, size);
  }
  checkRows(count, size);
  const rows: unknown[] = [];
  const pick = (from: number, row: readonly unknown[]): void => {
    const missing = size - row.length;
    if (missing === 0) rows.push(tupleOf(row));
    else for (let at = from; at <= list.length - missing; at += 1) pick(at + 1, [...row, list[at]]);
  };
  pick(0, []);
  return rows;
}

/** Python's `itertools.combinations_with_replacement`. @throws JinjaError (Limit, ValueError) */
export function combinationsWithReplacement(list: readonly unknown[], given: unknown): unknown[] {
  const size = wholeNumber(given);
  if (size < 0) throw valueError('r must be non-negative');
  if (list.length === 0 && size > 0) return [];
  let count = 1;
  const fewer = Math.min(size, list.length - 1);
  for (let at = 0; at < fewer; at += 1) {
    count = (count * (list.length + size - 1 - at)) / (at + 1);
    checkRows(count, size);
  }
  checkRows(count, size);
  const rows: unknown[] = [];
  const pick = (from: number, row: readonly unknown[]): void => {
    if (row.length === size) rows.push(tupleOf(row));
    else for (let at = from; at < list.length; at += 1) pick(at, [...row, list[at]]);
  };
  pick(0, []);
  return rows;
}

/** Python's `itertools.permutations`. @throws JinjaError (Limit) */
export function permutations(list: readonly unknown[], given: unknown): unknown[] {
  const size = given == null ? list.length : wholeNumber(given);
  if (size > list.length) return [];
  let count = 1;
  for (let at = 0; at < size; at += 1) {
    count *= list.length - at;
    checkRows(count, size);
  }
  const rows: unknown[] = [];
  const pick = (used: readonly number[]): void => {
    if (used.length === size) rows.push(tupleOf(used.map((at) => list[at])));
    else
      list.forEach((_, at) => {
        if (!used.includes(at)) pick([...used, at]);
      });
  };
  pick([]);
  return rows;
}
