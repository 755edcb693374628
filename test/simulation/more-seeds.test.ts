import { test } from 'vitest';
import { expectToHold } from './seeds.ts';

// In a file of its own, so that two processes share the work.
test('no rule is broken in seeds 251 to 500', { timeout: 600_000 }, () => expectToHold(251, 250));
