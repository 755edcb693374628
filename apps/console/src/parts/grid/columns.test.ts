import { expect, test } from 'vitest';
import { chosenColumns, toggledColumns } from './columns.ts';

const ALL = [{ id: 'at' }, { id: 'fun' }, { id: 'tgt' }];
const ids = (text?: string) => chosenColumns(ALL, text).map(({ id }) => id);

test('an address names columns, in their own order', () => {
  expect(ids('tgt,at,strange')).toEqual(['at', 'tgt']);
});

test.each([[undefined], [''], ['strange']])('%j is all columns', (text) => {
  expect(ids(text)).toEqual(['at', 'fun', 'tgt']);
});

test('a column is taken out and put in again', () => {
  expect(toggledColumns(ALL, undefined, 'fun')).toBe('at,tgt');
  expect(toggledColumns(ALL, 'at,tgt', 'fun')).toBe('');
  // The last one stays: no columns are all of them.
  expect(toggledColumns(ALL, 'at', 'at')).toBe('');
});
