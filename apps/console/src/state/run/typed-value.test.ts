import { parseArguments } from '@brine/client';
import { isMap, type SaltValue } from '@brine/wire';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { typedValue } from './typed-value.ts';

/** What the command line sends for a word. */
function ofCommandLine(word: string): unknown {
  const [value = null] = parseArguments([word]);
  return plain(value);
}

function plain(value: SaltValue): unknown {
  if (isMap(value)) {
    return Object.fromEntries([...value].map(([name, one]) => [name, plain(one)]));
  }
  return Array.isArray(value) ? value.map(plain) : value;
}

const WORDS = [
  '',
  ' ',
  'nginx',
  'web*',
  '3',
  '-3',
  '+3',
  '010',
  '-010',
  '0x1F',
  '0b11',
  '1_000',
  '1_0_',
  '1.5',
  '.5',
  '1e3',
  'true',
  'True',
  'TRUE',
  'tRue',
  'yes',
  'off',
  'y',
  'n',
  'null',
  '~',
  'None',
  'none',
  '---',
  '...',
  '2024-01-02',
  '20261130132703536139',
  '[]',
  '[1, two, true]',
  '[a,b]',
  '[[1], {a: b}]',
  '{}',
  '{a: 1}',
  '{a: 1, b: [x, y]}',
  '{"a": "b c"}',
  '{"a":}',
  '{"a":1,b}',
  "{'it''s': x}",
  "{a: 'x, y'}",
  '{a: }',
  '{a}',
  '"3"',
  "'3'",
  '"a" b',
  'a: b',
  'a:b',
  '- a',
  '-',
  '-x',
  '* x',
  '%x',
  '@x',
  '`x',
  '# x',
  '3 # x',
  'a # b',
  'a#b',
  '/etc/motd',
  '[http://x/y]',
  '{url: http://x:80/y}',
  "it's",
  '"\\u00e9"',
  '?',
  '? x',
  '<<',
  '=',
  'a, b',
  ' 3 ',
];

describe('typedValue', () => {
  it.each(WORDS)('reads %j as the command line does', (word) => {
    expect(typedValue(word)).toEqual({ kind: 'value', value: ofCommandLine(word) });
  });

  it.each(['1.0', '2.5e+3', '9007199254740993', '.inf', '1:30', '[1.0]', '{1: 2}', '{true: 1}'])(
    'refuses %j, which would change on its way',
    (word) => {
      expect(typedValue(word).kind).toBe('problem');
    },
  );

  it.each([
    '[a',
    '{a: b',
    '[a}',
    '{a: [}',
    '[a, b] c',
    '{a: b: c}',
    '{a:}',
    '{a:, b: 1}',
    '{a:{}}',
    '[a:]',
  ])('refuses %j, whose brackets are no YAML', (word) => {
    const text = 'These brackets are no list and no map of YAML';
    expect(typedValue(word)).toEqual({ kind: 'problem', text });
    expect(ofCommandLine(word)).toBe(word);
  });

  it.each(['&x', '!x', '|', '>'])('refuses %j, of which YAML would leave little', (word) => {
    expect(typedValue(word).kind).toBe('problem');
    expect(typedValue(`'${word}'`)).toEqual({ kind: 'value', value: word });
  });

  it('never takes another value than the command line, whatever is typed', () => {
    const signs = fc.constantFrom(...'[]{},:\'"# -a1.0_x=~&*!|>%@?'.split(''));
    fc.assert(
      fc.property(fc.string({ unit: signs, maxLength: 10 }), (word) => {
        // A word with a name is taken apart before its value is read.
        fc.pre(!/^[\p{L}_][\w.-]*=(?!=)/u.test(word));
        const meant = typedValue(word);
        if (meant.kind === 'value') expect(meant.value).toEqual(ofCommandLine(word));
      }),
      { numRuns: 20_000 },
    );
  });
});
