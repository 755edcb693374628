import type { SaltMap } from '@brine/wire';
import { describe, expect, test } from 'vitest';
import { comparable, fixture, fixtureMap, WrittenTree } from '../test/trees.ts';

// Recorded once from Salt 3008.2 by test/fixtures/pillar/record.py; the interop suite asks it anew.
const RECORDED = fixtureMap('results.json');
const GIVEN = fixtureMap('trees.json');
const GRAINS = GIVEN.get('grains') as SaltMap;
const TREES = GIVEN.get('trees') as SaltMap;
const DIFFERENCES = JSON.parse(fixture('differences.json')) as Record<string, string>;

/** Salt's pillars and Brine's, by the names of the grains. */
function bothOf(name: string): { readonly salt: unknown; readonly brine: unknown } {
  const tree = new WrittenTree(TREES.get(name) as SaltMap);
  const recorded = RECORDED.get(name) as SaltMap;
  const made = new Map(
    [...recorded.keys()].map((who) => [who, tree.pillarOf(GRAINS.get(who) as SaltMap)]),
  );
  return { salt: comparable(recorded), brine: comparable(made) };
}

describe('a pillar tree compiles as Salt 3008.2 compiles it', () => {
  const names = [...RECORDED.keys()].map(String).filter((name) => !(name in DIFFERENCES));
  test.each(names)('%s', (name) => {
    const { salt, brine } = bothOf(name);
    expect(brine).toEqual(salt);
  });
});

test('all trees were recorded, for all grains', () => {
  expect([...RECORDED.keys()]).toEqual([...TREES.keys()]);
  for (const recorded of RECORDED.values()) {
    expect([...(recorded as SaltMap).keys()].sort()).toEqual([...GRAINS.keys()].sort());
  }
});

test('what is listed as a difference is one', () => {
  for (const [name, reason] of Object.entries(DIFFERENCES)) {
    const { salt, brine } = bothOf(name);
    expect(JSON.stringify(brine), `${name}: ${reason}`).not.toBe(JSON.stringify(salt));
  }
});
