import { matchGlob } from '@brine/target';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { idTest } from './id-test.ts';

const letters = fc.string({ unit: fc.constantFrom('a', 'b', '.', '😀'), maxLength: 12 });
const patterns = fc.string({ unit: fc.constantFrom('a', 'b', '.', '😀', '*', '?'), maxLength: 12 });

test('a pattern means what the target of a command means by it', () => {
  fc.assert(
    fc.property(patterns, letters, (pattern, id) => {
      const expected = /[*?]/.test(pattern) ? matchGlob(pattern, id) : id.includes(pattern);
      expect(idTest(pattern)(id)).toBe(expected);
    }),
    { numRuns: 5_000 },
  );
});
