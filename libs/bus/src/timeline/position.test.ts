import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isPosition, markOf, parsePosition, type Place, printPosition } from './position.ts';

const places = fc.record(
  { seq: fc.nat({ max: 2 ** 40 }), index: fc.nat({ max: 255 }) },
  { requiredKeys: ['seq'] },
);
const marks = fc
  .array(fc.constantFrom(...'0123456789abcdef'), { minLength: 8, maxLength: 8 })
  .map((digits) => digits.join(''));

test('every position comes back from its word, which shells and URLs take as it is', () => {
  fc.assert(
    fc.property(places, places, marks, (events, publications, mark) => {
      const position = { events: events as Place, publications: publications as Place, mark };
      const word = printPosition(position);
      expect(word).toMatch(/^[0-9a-f._-]+$/);
      expect(isPosition(word)).toBe(true);
      expect(parsePosition(word)).toEqual(position);
    }),
  );
});

test.each(['', '4711', '2026-11-25', '4711-92', '1.2.3-4_00000000', '1-2_0000000g', '1-2_0'])(
  '%j is no position',
  (text) => {
    expect(isPosition(text)).toBe(false);
    expect(() => parsePosition(text)).toThrow('no position in the events');
  },
);

test('streams that were made again have another mark', () => {
  const first = { events: '2026-11-20T10:00:00Z', publications: '2026-11-20T10:00:01Z' };
  expect(markOf(first)).toMatch(/^[0-9a-f]{8}$/);
  expect(markOf({ ...first })).toBe(markOf(first));
  expect(markOf({ ...first, events: '2026-11-21T10:00:00Z' })).not.toBe(markOf(first));
  expect(markOf({ ...first, publications: '2026-11-21T10:00:00Z' })).not.toBe(markOf(first));
});
