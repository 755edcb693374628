import { expect, test } from 'vitest';
import { JinjaError, type JinjaErrorKind } from './errors.ts';
import { saltErrorHead, saltErrorText } from './salt-error.ts';

const TWENTY = Array.from({ length: 20 }, (_, at) => String(at + 1)).join('\n');

test.each<[JinjaErrorKind, string]>([
  ['Undefined', 'Jinja variable x'],
  ['Syntax', 'Jinja syntax error: x'],
  ['Runtime', 'Jinja syntax error: x'],
  ['Security', 'Jinja syntax error: x'],
  ['SaltFunction', 'Problem running salt function in Jinja template: x'],
  ['TypeError', 'Jinja error: x'],
  ['Raised', 'Jinja error: x'],
])('an error of the kind %s begins with %j', (kind, head) => {
  expect(saltErrorHead(new JinjaError(kind, 'x'))).toBe(head);
});

// As salt.exceptions.SaltRenderError and salt.utils.stringutils.get_context write them.
test.each([
  ['all of a short text', 'a\nb\nc\nd', 3, '---\na\nb\nc    <======================\nd\n---'],
  ['the whole text where it has no such line', 'a\nb\nc\nd', 9, 'a\nb\nc\nd'],
  [
    'five lines before it and five behind it',
    TWENTY,
    10,
    '---\n[...]\n5\n6\n7\n8\n9\n10    <======================\n11\n12\n13\n14\n15\n[...]\n---',
  ],
])('an error with a line shows %s', (_rule, source, line, shown) => {
  const error = new JinjaError('Syntax', 'x', line);
  expect(saltErrorText(error, source)).toBe(`Jinja syntax error: x; line ${line}\n\n${shown}`);
});

test('an error without a line is its first line alone', () => {
  expect(saltErrorText(new JinjaError('Limit', 'x'), 'a\nb')).toBe('Jinja error: x');
});
