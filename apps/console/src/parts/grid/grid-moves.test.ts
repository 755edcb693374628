import { expect, test } from 'vitest';
import { gridMove } from './grid-moves.ts';

const LIST = { total: 100, page: 10 };

test.each([
  ['ArrowDown', 5, 6],
  ['j', 5, 6],
  ['ArrowUp', 5, 4],
  ['k', 5, 4],
  ['PageDown', 5, 15],
  ['PageUp', 50, 40],
  ['Home', 50, 0],
  ['End', 50, 99],
  ['ArrowUp', 0, 0],
  ['ArrowDown', 99, 99],
  ['PageDown', 95, 99],
  ['PageUp', 5, 0],
])('%s goes from row %d to row %d', (key, at, to) => {
  expect(gridMove(key, at, LIST)).toBe(to);
});

test.each(['a', 'Enter', 'x', 'constructor', ''])('%j moves nothing', (key) => {
  expect(gridMove(key, 5, LIST)).toBeUndefined();
});

test('there is nowhere to go in an empty list', () => {
  expect(gridMove('End', 0, { total: 0, page: 1 })).toBeUndefined();
});
