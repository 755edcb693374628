import { readFileSync } from 'node:fs';
import { mapOf, SaltFloat, type SaltValue } from '@brine/wire';
import { pyRepr } from '@brine/wire/text';
import { describe, expect, it } from 'vitest';
import {
  CompoundCommandError,
  parseArguments,
  parseCompound,
  yamlArgument,
} from './function-arguments.ts';

describe('an argument is read as YAML', () => {
  const cases: readonly (readonly [string, SaltValue])[] = [
    ['1', 1],
    ['1.5', 1.5],
    ['1.0', new SaltFloat(1)],
    ['true', true],
    ['off', false],
    ['None', null],
    ['~', null],
    ['null', null],
    ['[1, 2]', [1, 2]],
    ['{a: b}', mapOf({ a: 'b' })],
    ['{a: [1, {b: null}]}', mapOf({ a: [1, mapOf({ b: null })] })],
    ['0x10', 16],
    ['010', 10],
    ['12:30', 750],
    ['"1"', '1'],
    ["'true'", 'true'],
  ];
  it.each(cases)('%s', (text, value) => {
    expect(yamlArgument(text)).toEqual(value);
  });
});

describe('an argument stays text', () => {
  it.each([
    'plain',
    '1e3',
    '1_000',
    '2024-01-02',
    '2024-01-02 03:04:05',
    '',
    ' ',
    '---',
    '!x',
    '!',
    '|',
    '# c',
    'a: b',
    'a:b',
    '- a',
    '*',
    '%x',
    '@y',
    '[1, 2',
    '{a: 1',
    'line1\nline2',
    'tab\there',
    'a #b',
    '{a: 1, a: 2}',
  ])('%j', (text) => {
    expect(yamlArgument(text)).toBe(text);
  });
});

describe('arguments of a command', () => {
  it('gathers keywords in one map behind the others', () => {
    expect(parseArguments(['a', 'k=1', 'b', 'long-name.x=[2]'])).toEqual([
      'a',
      'b',
      mapOf({ __kwarg__: true, k: 1, 'long-name.x': [2] }),
    ]);
  });

  it('splits a keyword at the first sign only', () => {
    expect(parseArguments(['a=b=c', 'url=http://x/?q=1'])).toEqual([
      mapOf({ __kwarg__: true, a: 'b=c', url: 'http://x/?q=1' }),
    ]);
  });

  it('takes a doubled sign, a line end or a digit in front for text', () => {
    expect(parseArguments(['a==b', 'k=v1\nv2', '1a=2'])).toEqual(['a==b', 'k=v1\nv2', '1a=2']);
  });

  it('leaves the value of keywords of --no-parse as text', () => {
    expect(parseArguments(['a=1', 'b=1'], ['a'])).toEqual([
      mapOf({ __kwarg__: true, a: '1', b: 1 }),
    ]);
  });

  it('sends a job id as text', () => {
    expect(parseArguments(['20261120171037123456'])).toEqual(['20261120171037123456']);
  });
});

describe('compound commands', () => {
  it('separates the arguments of functions by a word of their own', () => {
    expect(parseCompound('f,g', ['1', ',', 'x,y'], ',')).toEqual({
      fun: ['f', 'g'],
      arg: [[1], ['x,y']],
    });
  });

  it('takes a separator inside a word too', () => {
    expect(parseCompound('test.ping,test.echo', [',x'], ',').arg).toEqual([[], ['x']]);
  });

  it('refuses fewer groups than functions', () => {
    expect(() => parseCompound('f,g,h', ['1', ',', '2'], ',')).toThrow(CompoundCommandError);
  });
});

it('words with and without syntax are read as by Salt 3008.2', () => {
  const path = new URL('../fixtures/arguments.json', import.meta.url);
  const recorded = JSON.parse(readFileSync(path, 'utf8')) as { word: string; repr: string }[];
  expect(recorded.length).toBeGreaterThan(300);
  for (const { word, repr } of recorded)
    expect([word, pyRepr(parseArguments([word]))]).toEqual([word, repr]);
});
