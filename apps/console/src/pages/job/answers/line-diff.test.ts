import { diffLines } from 'diff';
import { expect, test } from 'vitest';
import { diffLinesOf } from './line-diff.ts';

const text = (...lines: readonly string[]): string => `${lines.join('\n')}\n`;
const many = Array.from({ length: 20 }, (_one, at) => `line ${at}`);

test('changed lines are there with some lines around them', () => {
  const found = diffLinesOf(diffLines(text(...many), text(...many.with(9, 'other'))));
  expect(found).toEqual([
    { is: 'gap', lines: 6 },
    { is: 'same', text: 'line 6' },
    { is: 'same', text: 'line 7' },
    { is: 'same', text: 'line 8' },
    { is: 'gone', text: 'line 9' },
    { is: 'new', text: 'other' },
    { is: 'same', text: 'line 10' },
    { is: 'same', text: 'line 11' },
    { is: 'same', text: 'line 12' },
    { is: 'gap', lines: 7 },
  ]);
});

test('equal texts have no changed line', () => {
  const found = diffLinesOf(diffLines(text('a', 'b'), text('a', 'b')));
  expect(found.filter(({ is }) => is === 'gone' || is === 'new')).toEqual([]);
});

test('a long difference is cut, and counts what is left', () => {
  const long = Array.from({ length: 3_000 }, (_one, at) => String(at));
  const found = diffLinesOf(diffLines('', text(...long)));
  expect(found).toHaveLength(2_001);
  expect(found.at(-1)).toEqual({ is: 'gap', lines: 1_000 });
});
