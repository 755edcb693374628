import { test } from 'vitest';
import { DEEP_SEEDS, expectToHold, PURE_SEEDS } from './seeds.ts';

test(`no rule is broken in seeds ${PURE_SEEDS + 1} to ${DEEP_SEEDS}`, { timeout: 600_000 }, () =>
  expectToHold(PURE_SEEDS + 1, DEEP_SEEDS - PURE_SEEDS),
);
