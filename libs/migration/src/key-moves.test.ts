import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { missingKeys, sameKeys, type Shelf, SHELVES, type Shelves } from './key-moves.ts';

const NONE: Shelves = { accepted: [], pending: [], rejected: [], denied: [], autosign: [] };
const always = (): boolean => true;
const never = (): boolean => false;

describe('keys that Brine lacks', () => {
  test('are all of them at first, in the states that they have', () => {
    const stock = { ...NONE, accepted: ['a'], pending: ['p'], rejected: ['r'], denied: ['a'] };
    expect(missingKeys(stock, NONE, always)).toEqual({
      moves: [
        { act: 'add', shelf: 'accepted', id: 'a' },
        { act: 'add', shelf: 'pending', id: 'p' },
        { act: 'add', shelf: 'rejected', id: 'r' },
        { act: 'add', shelf: 'denied', id: 'a' },
      ],
      differ: [],
    });
  });

  test('are none the second time', () => {
    const stock = { ...NONE, accepted: ['a'], denied: ['a'], autosign: ['s'] };
    expect(missingKeys(stock, stock, always)).toEqual({ moves: [], differ: [] });
  });

  test('a key that was accepted in Brine meanwhile stays accepted, and is told', () => {
    const found = missingKeys({ ...NONE, pending: ['a'] }, { ...NONE, accepted: ['a'] }, always);
    expect(found).toEqual({ moves: [], differ: ['a'] });
  });

  test('another key of the same minion is told, never taken', () => {
    const both = { ...NONE, accepted: ['a'] };
    expect(missingKeys(both, both, never)).toEqual({ moves: [], differ: ['a'] });
  });

  test('a minion that the stock master has deleted is told', () => {
    const found = missingKeys(NONE, { ...NONE, accepted: ['gone'] }, always);
    expect(found).toEqual({ moves: [], differ: ['gone'] });
  });
});

describe('the way back', () => {
  const ids = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd'));
  const shelves = fc.record(
    Object.fromEntries(SHELVES.map((shelf) => [shelf, ids])) as Record<Shelf, typeof ids>,
  );

  test('makes both the same, whatever there was', () => {
    fc.assert(
      fc.property(shelves, shelves, fc.boolean(), (brine, stock, isSame) => {
        const there = Object.fromEntries(
          SHELVES.map((shelf) => [shelf, new Set(stock[shelf])]),
        ) as Record<Shelf, Set<string>>;
        for (const { act, shelf, id } of sameKeys(brine, stock, () => isSame)) {
          if (act === 'add') there[shelf].add(id);
          else there[shelf].delete(id);
        }
        for (const shelf of SHELVES) expect(there[shelf]).toEqual(new Set(brine[shelf]));
      }),
    );
  });

  test('adds before it removes, so that no minion is without a key in between', () => {
    const brine = { ...NONE, accepted: ['b'], rejected: ['a'] };
    const acts = sameKeys(brine, { ...NONE, accepted: ['a', 'x'] }, always).map(({ act }) => act);
    expect(acts).toEqual(['add', 'add', 'remove', 'remove']);
  });
});
