import { test } from 'vitest';
import { expectToHold } from './seeds.ts';

// The first forty are in the pure layer.
test('no rule is broken in seeds 41 to 500', { timeout: 600_000 }, () => expectToHold(41, 460));
