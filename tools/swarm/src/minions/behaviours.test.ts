import { describe, expect, it } from 'vitest';
import { minionId } from '../types.ts';
import { behaviourOf, checkBehaviours, delayOf, GOOD, returnValue } from './behaviours.ts';

describe('behaviourOf', () => {
  const silent = { share: 0.1, answer: 'never' } as const;
  const twice = { share: 0.3, answer: 'twice' } as const;

  it('deals shares out exactly, in order, and leaves the rest good', () => {
    const given = Array.from({ length: 10 }, (_, index) =>
      behaviourOf([silent, twice], minionId('m-', index), index, 10),
    );
    expect(given.filter((one) => one === silent)).toHaveLength(1);
    expect(given.filter((one) => one === twice)).toHaveLength(3);
    expect(given.filter((one) => one === GOOD)).toHaveLength(6);
    expect(given[0]).toBe(silent);
  });

  it('a glob over ids wins over shares', () => {
    const late = { ids: 'm-0000[0-1]', delayMs: 5 };
    expect(behaviourOf([silent, late], 'm-00000', 0, 10)).toBe(late);
    expect(behaviourOf([silent, late], 'm-00002', 2, 10)).toBe(GOOD);
  });
});

describe('delayOf', () => {
  it('is fixed, or drawn between the bounds', () => {
    expect(delayOf({})).toBe(0);
    expect(delayOf({ delayMs: 7 })).toBe(7);
    expect(delayOf({ delayMs: [10, 20] }, () => 0.5)).toBe(15);
  });
});

describe('returnValue', () => {
  it('is the value of the function, or the one that the behaviour gives', () => {
    expect(returnValue('test.ping', [], {})).toBe(true);
    expect(returnValue('test.echo', ['a'], {})).toBe('a');
    expect(returnValue('test.ping', [], { returnBytes: 3 })).toBe('xxx');
    expect(returnValue('test.ping', [], { retcode: 1 })).toBe('ERROR: test.ping failed');
    expect(returnValue(['test.ping', 'a.b'], [], {})).toEqual(
      new Map([
        ['test.ping', true],
        ['a.b', true],
      ]),
    );
  });
});

describe('checkBehaviours', () => {
  it('names the behaviour and what is wrong with it', () => {
    const wrong = (one: unknown): string => {
      try {
        checkBehaviours([{}, one]);
      } catch (error) {
        return (error as Error).message;
      }
      return 'taken';
    };
    expect(wrong({ share: 2 })).toBe('behaviour 2: share is from 0 to 1');
    expect(wrong({ anwser: 'once' })).toBe('behaviour 2: unknown key anwser');
    expect(wrong({ answer: 'thrice' })).toMatch(/once, twice or never/);
    expect(wrong({ delayMs: [1] })).toMatch(/two bounds/);
    expect(wrong({ hostile: 'rude' })).toMatch(/garbage/);
    expect(wrong({ delayMs: [1, 2], retcode: 1 })).toBe('taken');
  });
});
