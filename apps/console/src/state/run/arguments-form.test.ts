import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  argumentsForm,
  asTest,
  isTest,
  takesTest,
  withArgument,
  withoutTest,
} from './arguments-form.ts';

const PARAMETERS = ['mods', 'saltenv', 'queue'].map((name) => ({ name, required: false }));

describe('argumentsForm', () => {
  it('sorts words by the parameters that they are for', () => {
    const { values, more } = argumentsForm(['nginx', 'queue=True', 'test=True'], PARAMETERS);
    expect([...values]).toEqual([
      ['mods', 'nginx'],
      ['queue', 'True'],
    ]);
    expect(more).toEqual([2]);
  });

  it('keeps words beyond the parameters', () => {
    expect(argumentsForm(['a', 'b', 'c', 'd'], PARAMETERS).more).toEqual([3]);
  });
});

describe('withArgument', () => {
  it.each([
    [[], 'mods', 'nginx', ['nginx']],
    [['nginx'], 'mods', 'web', ['web']],
    [['nginx'], 'mods', '', []],
    [['nginx', 'base'], 'mods', '', ['saltenv=base']],
    [['nginx'], 'queue', 'True', ['nginx', 'queue=True']],
    [['nginx', 'queue=True'], 'queue', '', ['nginx']],
    [['nginx', 'queue=True'], 'queue', 'False', ['nginx', 'queue=False']],
    [[], 'mods', 'a=b', ['mods=a=b']],
  ])('makes of %j with %s = %j', (words, name, text, wanted) => {
    expect(withArgument(words, PARAMETERS, name, text)).toEqual(wanted);
  });

  it('gives a parameter its text, and leaves the others as they are', () => {
    const names = fc.constantFrom('mods', 'saltenv', 'queue');
    const text = fc.stringMatching(/^[a-z]{0,4}$/);
    fc.assert(
      fc.property(fc.array(fc.tuple(names, text), { maxLength: 8 }), (edits) => {
        const wanted = new Map<string, string>();
        let words: readonly string[] = [];
        for (const [name, value] of edits) {
          words = withArgument(words, PARAMETERS, name, value);
          if (value === '') wanted.delete(name);
          else wanted.set(name, value);
        }
        expect(new Map(argumentsForm(words, PARAMETERS).values)).toEqual(wanted);
      }),
    );
  });
});

describe('test=True', () => {
  it('is put at the end, once', () => {
    expect(asTest(['nginx', 'test=False'])).toEqual(['nginx', 'test=True']);
    expect(withoutTest(['nginx', 'test=True'])).toEqual(['nginx']);
    expect(isTest(['nginx', 'test=True'])).toBe(true);
    expect(isTest(['nginx', 'test=False'])).toBe(false);
  });

  it('is for functions of states alone', () => {
    expect(['state.apply', 'state.single', 'test.ping', 'state.show_top'].map(takesTest)).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });
});
