import { describe, expect, test } from 'vitest';
import { PythonRegex, RegexError, Work, WorkError } from '../index.ts';
import type { RegexFlags } from './regex.ts';

const LONGEST = 1_000_000;

function found(pattern: string, text: string, flags: RegexFlags = {}): unknown {
  const work = Work.ofTemplate(text.length);
  return new PythonRegex(pattern, flags, work).search(text, work)?.groups;
}

function replaced(pattern: string, text: string, template: string): string {
  const work = Work.ofTemplate(text.length);
  return new PythonRegex(pattern, {}, work).replace(text, template, work, LONGEST);
}

// More results of Salt's filters are recorded in test/fixtures/jinja.
describe('an expression returns what it found', () => {
  test('a search begins anywhere, a match at the start', () => {
    const work = Work.ofTemplate(10);
    const regex = new PythonRegex('b(c)?', {}, work);
    expect(regex.match('abc', work)).toBeUndefined();
    expect(regex.search('ab😀', work)).toEqual({ start: 1, end: 2, groups: ['b', undefined] });
  });
  test.each([
    ['^b', 'a\nb', { multiline: true }, ['b']],
    ['B', 'ab', { ignoreCase: true }, ['b']],
    ['\\Aa', 'ba', {}, undefined],
    ['(?<=a)(b)', 'ab', {}, ['b', 'b']],
    ['(?:(a)|(b))+', 'xabx', {}, ['ab', 'a', 'b']],
    ['.\\Z', 'a😀', {}, ['😀']],
  ])('%s in %j', (pattern, text, flags, groups) => {
    expect(found(pattern, text, flags)).toEqual(groups);
  });
  test('with a memory it finds the same as without', () => {
    const text = `${'ab'.repeat(300)}c`;
    expect(found('(?:(a)|(b)|(ab))*?(c)$', text)).toEqual([text, 'a', 'b', undefined, 'c']);
    const long = `${'a'.repeat(3_000)}b${'a'.repeat(30)}c`;
    expect(found('((?:a|aa)+)(c)', long)).toEqual([`${'a'.repeat(30)}c`, 'a'.repeat(30), 'c']);
  });
});

describe('a match is replaced', () => {
  test.each([
    ['x*', 'abxd', '-', '-a-b--d-'],
    ['|a', 'a', '-', '---'],
    ['(?P<k>\\w)=(\\w)?', 'k=', '\\g<2>=\\g<k>\\0', '=k\0'],
    ['a', 'a', '\\n\\.\\101', '\n\\.A'],
  ])('%s in %j', (pattern, text, template, expected) => {
    expect(replaced(pattern, text, template)).toBe(expected);
  });
  test.each(['\\1', '\\g<x>', '\\g<', '\\q', '\\', '\\777'])('%j is refused', (template) => {
    expect(() => replaced('a', 'a', template)).toThrow(RegexError);
  });
});

test('a search that could run away is linear, or stopped', () => {
  const text = 'a'.repeat(4_000);
  expect(found('(a|a)*b', text)).toBeUndefined();
  expect(found('(a+)+$', `${text}b`)).toBeUndefined();
  expect(replaced('(x+x+)+y', 'x'.repeat(2_000), '')).toBe('x'.repeat(2_000));
  expect(() => found('(a|a)*\\1b', text)).toThrow(WorkError);
  expect(() => replaced('a', text, 'b'.repeat(1_000))).toThrow(WorkError);
});
