import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import {
  isPosition,
  markOf,
  parsePosition,
  type Place,
  printPosition,
  Reached,
} from './position.ts';

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

describe('what a reader has reached', () => {
  const here = new Reached('10.3-5_0a1b2c3d');

  it.each([
    ['9-5_0a1b2c3d', 'events', true],
    ['10.3-0_0a1b2c3d', 'events', true],
    ['10.4-5_0a1b2c3d', 'events', false],
    ['10-5_0a1b2c3d', 'events', false],
    ['11-5_0a1b2c3d', 'events', false],
    // The other stream says nothing about an event.
    ['10.2-9_0a1b2c3d', 'events', true],
    ['99-5_0a1b2c3d', 'publications', true],
    ['99-5.0_0a1b2c3d', 'publications', true],
    ['10-6_0a1b2c3d', 'publications', false],
    ['9-5_ffffffff', 'events', false],
  ] as const)('an event at %s of %s: %s', (position, side, has) => {
    expect(here.has({ position, side })).toBe(has);
  });

  it.each([
    ['10.3-5_0a1b2c3d', true],
    ['10.2-5.0_0a1b2c3d', true],
    ['10.4-5_0a1b2c3d', false],
    ['10.3-6_0a1b2c3d', false],
    ['1-1_ffffffff', false],
  ])('all up to %s: %s', (position, has) => {
    expect(here.hasAll(position)).toBe(has);
  });

  it('of other streams is nothing', () => {
    expect([here.isOfSame('1-1_0a1b2c3d'), here.isOfSame('1-1_ffffffff')]).toEqual([true, false]);
    expect(() => here.hasAll('no position')).toThrow('no position');
  });
});
