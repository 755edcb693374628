import { expect, test } from 'vitest';
import { readJson } from './json-read.ts';

const NO_NAME = 'Expecting property name enclosed in double quotes';

// What Python's json.loads says of the same texts.
test.each([
  ['', 'Expecting value: line 1 column 1 (char 0)'],
  ['{"a": }', 'Expecting value: line 1 column 7 (char 6)'],
  ['[1,]', 'Expecting value: line 1 column 4 (char 3)'],
  ['-', 'Expecting value: line 1 column 1 (char 0)'],
  ['nul', 'Expecting value: line 1 column 1 (char 0)'],
  ['{"a": 1,}', `${NO_NAME}: line 1 column 9 (char 8)`],
  ["{'a': 1}", `${NO_NAME}: line 1 column 2 (char 1)`],
  ['{', `${NO_NAME}: line 1 column 2 (char 1)`],
  ['{"a" 1}', "Expecting ':' delimiter: line 1 column 6 (char 5)"],
  ['{"a": 1 "b": 2}', "Expecting ',' delimiter: line 1 column 9 (char 8)"],
  ['[1 2]', "Expecting ',' delimiter: line 1 column 4 (char 3)"],
  ['[1', "Expecting ',' delimiter: line 1 column 3 (char 2)"],
  ['01', 'Extra data: line 1 column 2 (char 1)'],
  ['{"a": 1} x', 'Extra data: line 1 column 10 (char 9)'],
  ['{"a": "b\tc"}', 'Invalid control character at: line 1 column 9 (char 8)'],
  ['{"a": "b\n', 'Invalid control character at: line 1 column 9 (char 8)'],
  ['{"a": "\\q"}', 'Invalid \\escape: line 1 column 8 (char 7)'],
  ['["\\u12g4"]', 'Invalid \\uXXXX escape: line 1 column 4 (char 3)'],
  ['["b', 'Unterminated string starting at: line 1 column 2 (char 1)'],
  ['["b\\', 'Unterminated string starting at: line 1 column 2 (char 1)'],
  [
    `[${'9'.repeat(4_301)}]`,
    'Exceeds the limit (4300 digits) for integer string conversion: line 1 column 4303 (char 4302)',
  ],
  ['{"a": 1,\n\n "b" 2}', "Expecting ':' delimiter: line 3 column 6 (char 15)"],
  // A character is one, however many units it has.
  ['["😀" 1]', "Expecting ',' delimiter: line 1 column 6 (char 5)"],
])('%j is no JSON, in the words of Python', (text, words) => {
  expect(() => readJson(text)).toThrow(
    expect.objectContaining({ code: 'SALT_WIRE_TYPE', message: words }),
  );
});

test.each([
  ['with escapes', 'abc,def\n'],
  ['without', 'abcdefgh'],
  ['of quotes', '"'],
  ['of backslashes', '\\'],
])('a text of 8 MB %s is read', (_name, part) => {
  const text = part.repeat(8_000_000 / part.length);
  const read = readJson(JSON.stringify([text, 1]));
  expect(Array.isArray(read) && read[0] === text && read[1] === 1).toBe(true);
});

test('a broken text of 8 MB is refused at its place', () => {
  const text = `["${'ab\\n'.repeat(2_000_000)}`;
  expect(() => readJson(text)).toThrow('Unterminated string starting at: line 1 column 2 (char 1)');
  expect(() => readJson(`[${'1,\n'.repeat(500_000)}]`)).toThrow(
    'Expecting value: line 500001 column 1 (char 1500001)',
  );
});

test('reads no more values and keys than it may', () => {
  expect(readJson('[1, {"a": 2}]', 5)).toEqual([1, new Map([['a', 2]])]);
  expect(() => readJson('[1, {"a": 2}]', 4)).toThrow(
    expect.objectContaining({ code: 'SALT_WIRE_COST' }),
  );
});
