import type { KeyShown } from '@brine/api/fleet';
import { describe, expect, test } from 'vitest';
import { actedOn, actedText, comparedWith, keyRequests } from './key-acts.ts';

const print = (pair: string): string => Array.from({ length: 32 }, () => pair).join(':');
const prints = (one: string, other: string) => ({ salt3006: print(one), salt3008: print(other) });

function key(id: string, more: Partial<KeyShown> = {}): KeyShown {
  return {
    id,
    state: 'pending',
    fingerprints: prints('aa', 'ab'),
    denied: [],
    changed: null,
    ...more,
  };
}

test('to accept and to reject are for keys that wait, to delete for all', () => {
  const keys = [key('a'), key('b', { state: 'accepted' }), key('c', { state: 'denied' })];
  expect(actedOn('accept', keys).map(({ id }) => id)).toEqual(['a']);
  expect(actedOn('reject', keys).map(({ id }) => id)).toEqual(['a']);
  expect(actedOn('delete', keys)).toHaveLength(3);
});

test('a request has the ids, their number and the fingerprints that were shown', () => {
  const keys = [key('a'), key('b', { fingerprints: null, denied: [prints('cc', 'cd')] })];
  expect(keyRequests('delete', keys)).toEqual([
    {
      act: 'delete',
      ids: ['a', 'b'],
      expect: { count: 2 },
      fingerprints: [
        { id: 'a', fingerprint: print('ab') },
        { id: 'b', fingerprint: print('cd') },
      ],
    },
  ]);
});

test('more keys than a request may have are several requests', () => {
  const keys = Array.from({ length: 2_001 }, (_, n) => key(`m${n}`));
  expect(keyRequests('accept', keys).map(({ expect: { count } }) => count)).toEqual([
    1_000, 1_000, 1,
  ]);
  expect(keyRequests('accept', [])).toEqual([]);
});

test('what was done is a sentence', () => {
  const of = (result: 'done' | 'no-key' | 'other-key') => ({ id: 'x', result });
  expect(actedText('accept', [of('done'), of('done'), of('other-key')])).toBe(
    '2 accepted, 1 have another key now.',
  );
});

describe('a pasted fingerprint', () => {
  const one = key('a', { denied: [prints('cc', 'cd')] });
  test.each([
    [print('aa'), 'this'],
    [print('AB').toUpperCase(), 'this'],
    [` ${print('ab')}\n`, 'this'],
    ['ab'.repeat(32), 'this'],
    [print('cd'), 'denied'],
    [print('00'), 'other'],
    ['ab:ab', undefined],
    ['', undefined],
  ])('%j belongs to %s', (pasted, whose) => {
    expect(comparedWith(one, pasted)).toBe(whose);
  });
});
