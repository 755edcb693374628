import { describe, expect, test } from 'vitest';
import { matchPcre, matchPcreWhole, WorkError } from '../index.ts';
import { RegexError } from './ast.ts';
import { compilePythonRegex } from './compile.ts';

describe('regular expressions have the meaning of re.match', () => {
  test.each([
    ['web', 'web1', true],
    ['eb', 'web1', false],
    ['web$', 'web\n', true],
    ['web\\Z', 'web\n', false],
    ['(?P<a>x)(?P=a)', 'xx', true],
    ['(?!db).*', 'db1', false],
    ['(?<=x)?w', 'w', true],
    ['\\d+', '٣', true],
    ['(?a)\\d+', '٣', false],
    ['(?i)WEB', 'web', true],
    ['we(?i:B)', 'web', true],
    ['[[:alpha:]]', ':]', true],
    ['[]a]b', ']b', true],
    ['a{,2}b', 'aab', true],
    ['a{x}', 'a{x}', true],
    ['(?x) w e b # comment', 'web', true],
    ['\\u00fc\\x31\\061', 'ü11', true],
    ['a|b', 'bx', true],
    ['.', '\n', false],
    ['(?s).', '\n', true],
    ['😀{2}', '😀😀', true],
    ['\\bweb\\b', 'web-1', true],
  ])('%j on %j: %s', (pattern, text, expected) => {
    expect(matchPcre(pattern, text)).toBe(expected);
  });
  test.each([
    ...['[', '(', ')', 'a**', '*a', '^*', '\\q', '\\1', '(?P<n>a)(?P<n>b)', '(?<=a*)b', '[b-a]'],
    ...[
      'a{2,1}',
      '\\400',
      '(?z)',
      '(?P=x)',
      '(?',
      '\\',
      '[\\d-z]',
      '(?>a)',
      'a*+',
      '\\N{DIGIT ONE}',
    ],
  ])('%j is refused', (pattern) => {
    expect(() => compilePythonRegex(pattern)).toThrow(RegexError);
    expect(matchPcre(pattern, 'a')).toBe(false);
  });
  test('expressions that could run away are linear, or stopped where references keep them from it', () => {
    expect(matchPcre('(a+)+$', `${'a'.repeat(5_000)}b`)).toBe(false);
    expect(matchPcre('(a|a)*$', `${'a'.repeat(5_000)}b`)).toBe(false);
    expect(matchPcre('(?=x?)(a+)+$', `${'a'.repeat(500)}b`)).toBe(false);
    expect(matchPcre('(?=a)(a|aa)*$', `${'a'.repeat(5_000)}b`)).toBe(false);
    expect(() => matchPcre('(a|a)*\\1b', 'a'.repeat(40))).toThrow(WorkError);
  });
  test('a whole match is anchored for all alternatives', () => {
    expect(matchPcreWhole('web|db', 'web')).toBe(true);
    expect(matchPcreWhole('web|db', 'web2')).toBe(false);
    expect(matchPcreWhole('(?i)web', 'WEB')).toBe(true);
    expect(matchPcreWhole('[', '[')).toBe(false);
  });
});
