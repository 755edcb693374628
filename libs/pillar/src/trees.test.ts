import { describe, expect, test } from 'vitest';
import { allNames, bothOf, DIFFERENCES, treeNames } from '../test/trees.ts';

const NAMES = treeNames('pure');

describe('a pillar tree compiles as Salt compiles it', () => {
  test.each(NAMES.filter((name) => !(name in DIFFERENCES)))('%s', (name) => {
    const { salt, brine } = bothOf(name);
    expect(brine).toEqual(salt);
  });
});

test('all trees were recorded, for all grains', () => {
  const { given, recorded } = allNames();
  expect(recorded).toEqual(given);
});

test.each(NAMES.filter((name) => name in DIFFERENCES))('the difference %s is one', (name) => {
  const { salt, brine } = bothOf(name);
  expect(JSON.stringify(brine), DIFFERENCES[name]).not.toBe(JSON.stringify(salt));
});
