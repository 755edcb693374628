import { expect, test } from 'vitest';
import { shown } from './given.tsx';

test.each([
  ['bidi marks', 'a\u202Egnp.\u2066b\u061Cc', 'a⟨U+202E⟩gnp.⟨U+2066⟩b⟨U+061C⟩c'],
  ['what has no width', 'a\u200Bb\uFEFFc\u00ADd', 'a⟨U+200B⟩b⟨U+FEFF⟩c⟨U+00AD⟩d'],
  ['hidden letters of tags', 'a\u{E0041}b', 'a⟨U+E0041⟩b'],
  ['colours of terminals', '\u001B[31mred\u0007', '⟨U+001B⟩[31mred⟨U+0007⟩'],
  ['NUL and others', 'x\0y\u0085z\u2028', 'x⟨U+0000⟩y⟨U+0085⟩z⟨U+2028⟩'],
])('%s are seen as their numbers', (_what, text, expected) => {
  expect(shown(text)).toBe(expected);
});

test.each(['<img src=x onerror=alert(1)>', '__proto__', 'zwölf Größen', '日本\n\tx'])(
  '%j is as it is',
  (text) => {
    expect(shown(text)).toBe(text);
  },
);

test('a long text is cut, with its length', () => {
  const text = 'L'.repeat(1_000_000);
  expect(shown(text)).toBe(`${text.slice(0, 20_000)}… (1000000 characters)`);
  expect(shown('abcdef', 3)).toBe('abc… (6 characters)');
});
