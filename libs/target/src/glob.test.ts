import { cpuMs } from '@brine/testing/waits';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compileGlob, matchGlob } from './index.ts';

describe('globs have the meaning of fnmatch', () => {
  test.each([
    ['*', '', true],
    ['web?', 'web1', true],
    ['web?', 'web', false],
    ['w*b*1', 'web-db-1', true],
    ['[!w]eb', 'web', false],
    ['[!w]eb', 'xeb', true],
    ['[]]', ']', true],
    ['[!]]', ']', false],
    ['[a-c]x', 'bx', true],
    ['[c-a]x', 'bx', false],
    ['[a-]', '-', true],
    ['[', '[', true],
    ['[!', '[!', true],
    ['WEB1', 'web1', false],
    ['a*', 'a/b\nc', true],
    ['\\*', '\\x', true],
    ['?', '😀', true],
    ['[😀-😂]', '😁', true],
    ['a.c', 'abc', false],
  ])('%j on %j: %s', (glob, text, expected) => {
    expect(matchGlob(glob, text)).toBe(expected);
  });
  test('a glob with many stars cannot take long', () => {
    const before = cpuMs();
    expect(matchGlob(`${'a*'.repeat(200)}b`, 'a'.repeat(20_000))).toBe(false);
    expect(cpuMs() - before).toBeLessThan(10_000);
  });
  test('any text is a glob, and text without special characters matches itself only', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (glob, text) => {
        const expected = glob === text;
        const matches = compileGlob(glob)(text);
        if (!/[*?[]/.test(glob)) expect(matches).toBe(expected);
      }),
    );
  });
  test('a glob of stars alone judges as one with sets does', () => {
    const letters = fc.array(fc.constantFrom('a', 'b', '*'), { maxLength: 8 });
    const text = fc.array(fc.constantFrom('a', 'b'), { maxLength: 10 });
    fc.assert(
      fc.property(letters, text, (glob, chars) => {
        const sets = glob.map((letter) => (letter === '*' ? '*' : `[${letter}]`)).join('');
        expect(matchGlob(glob.join(''), chars.join(''))).toBe(matchGlob(sets, chars.join('')));
      }),
      { numRuns: 2_000 },
    );
  });
});
