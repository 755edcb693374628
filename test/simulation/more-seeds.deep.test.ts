import { drawnSeeds } from '@brine/testing/circle';
import { test } from 'vitest';
import { DEEP_SEEDS, expectToHold, PURE_SEEDS } from './seeds.ts';

const { first, count } = drawnSeeds('simulated seeds', {
  first: PURE_SEEDS + 1,
  count: DEEP_SEEDS - PURE_SEEDS,
  some: PURE_SEEDS,
});

test(`no rule is broken in seeds ${first} to ${first + count - 1}`, { timeout: 600_000 }, () =>
  expectToHold(first, count),
);
