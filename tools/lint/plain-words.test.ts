import { type Rule, RuleTester } from 'eslint';
import tseslint from 'typescript-eslint';
import { describe, expect, it, test } from 'vitest';

const { default: plugin, replacedWords } = (await import(
  new URL('plain-words.mjs', import.meta.url).href
)) as {
  readonly default: { readonly rules: Readonly<Record<string, Rule.RuleModule>> };
  readonly replacedWords: (glossary?: string) => ReadonlyMap<string, string>;
};

RuleTester.describe = describe;
RuleTester.it = it;

const tester = new RuleTester({ languageOptions: { parser: tseslint.parser } });
const rule = plugin.rules['plain-words']!;
const errors = (...words: readonly string[]) =>
  words.map((word) => ({ message: new RegExp(`^"${word}": `) }));

tester.run('plain-words', rule, {
  valid: [
    '// The worker receives it, as `pkg.hold` does; Salt prints "nobody".',
    'const threshold = household + uphold;',
    "send('tell');",
    'read({ told: 1 }); row.told;',
  ],
  invalid: [
    { code: '// The worker is told so.', errors: errors('told') },
    {
      code: '/** It goes on\n * and says: Nobody. */',
      errors: errors('goes on', 'says', 'Nobody'),
    },
    { code: "log.warn('the lock is held by another process');", errors: errors('held') },
    { code: 'log.warn(`${name} tells ${other}`);', errors: errors('tells') },
    { code: 'let toldMs = 0;', errors: errors('told') },
    { code: 'function stepBack({ heard: HELD_MAX }) {}', errors: errors('HELD') },
    { code: 'class Gate { #held = 0; hears() {} }', errors: errors('held', 'hears') },
    {
      code: 'interface Row { readonly told: string; says(): void }',
      errors: errors('told', 'says'),
    },
    { code: 'import { tell as report, type Nobody } from "peer";', errors: errors('Nobody') },
  ],
});

test('the words stand in the glossary, but for those whose sense decides', () => {
  const replaced = replacedWords();
  expect(replaced.get('told')).toContain('report');
  expect([...replaced.keys()].filter((word) => /[^a-z ]/.test(word))).toEqual([]);
  expect(replaced.has('word')).toBe(false);
  expect(() => replacedWords('# Glossary')).toThrow('no table');
});
