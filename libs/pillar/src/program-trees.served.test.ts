import { describe, expect, test } from 'vitest';
import { bothOf, DIFFERENCES, treeNames } from '../test/trees.ts';

const NAMES = treeNames('served');

// The other trees start nothing: trees.test.ts.
describe('a tree with external pillars that are programs compiles as Salt does it', () => {
  test.each(NAMES.filter((name) => !(name in DIFFERENCES)))('%s', (name) => {
    const { salt, brine } = bothOf(name);
    expect(brine).toEqual(salt);
  });
});

test.each(NAMES.filter((name) => name in DIFFERENCES))('the difference %s is one', (name) => {
  const { salt, brine } = bothOf(name);
  expect(JSON.stringify(brine), DIFFERENCES[name]).not.toBe(JSON.stringify(salt));
});
