import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ALL_OPEN, allClosed, folded, foldsIn, foldsText, isClosed } from './folds.ts';

const rows = [0, 1, 2, 3, 4, 5];
const closedIn = (text: string): number[] => rows.filter((row) => isClosed(foldsIn(text), row));

test('an address names closed rows, or those that are open among closed ones', () => {
  expect(closedIn('')).toEqual([]);
  expect(closedIn('1,4')).toEqual([1, 4]);
  expect(closedIn('all')).toEqual(rows);
  expect(closedIn('all,2,3')).toEqual([0, 1, 4, 5]);
});

test.each(['x', '-1', '1.5', 'none', '99999999999', ',,'])('%j closes no row', (text) => {
  expect(closedIn(text)).toEqual([]);
});

test('what was closed and opened is what a link to it shows', () => {
  const act = fc.record({ row: fc.constantFrom(...rows), close: fc.boolean() });
  fc.assert(
    fc.property(fc.boolean(), fc.array(act), (isAll, acts) => {
      const wanted = new Set(isAll ? rows : []);
      let text = foldsText(isAll ? allClosed() : ALL_OPEN);
      for (const { row, close } of acts) {
        text = foldsText(folded(foldsIn(text), row, close));
        if (close) wanted.add(row);
        else wanted.delete(row);
      }
      expect(closedIn(text)).toEqual([...wanted].sort());
    }),
  );
});

test('rows may stay open where all are closed', () => {
  expect(foldsText(allClosed([0]))).toBe('all,0');
});

test('an address has at most 200 rows', () => {
  const text = Array.from({ length: 1_000 }, (_, row) => row).join(',');
  expect(foldsText(foldsIn(text)).split(',')).toHaveLength(200);
});
