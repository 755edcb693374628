import { expect, test } from 'vitest';
import { readLines } from './lines.ts';

test('a field has its lines without what is around them', () => {
  expect(readLines(' a \r\n\n  b c\n')).toEqual(['a', 'b c']);
  expect(readLines('')).toEqual([]);
  expect(readLines(null)).toEqual([]);
});
