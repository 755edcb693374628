import fc from 'fast-check';
import { expect, test } from 'vitest';
import { offsetOf, SCALE_STEPS, stepOf } from './time-scale.ts';

const spans = fc.integer({ min: 1, max: 31_536_000_000 });

test('the ends of a slider are the ends of its time', () => {
  fc.assert(
    fc.property(spans, (span) => {
      expect(stepOf(0, span)).toBe(0);
      expect(stepOf(span, span)).toBe(SCALE_STEPS);
      expect(offsetOf(0, span)).toBe(0);
      expect(offsetOf(SCALE_STEPS, span)).toBe(span);
    }),
  );
});

test('a step is found again by its time, unless it is shorter than 1 ms', () => {
  const span = 3_600_000;
  for (let step = 300; step <= SCALE_STEPS; step += 1) {
    expect(Math.abs(stepOf(offsetOf(step, span), span) - step)).toBeLessThanOrEqual(4);
  }
});

test('a time outside is at the end', () => {
  expect(stepOf(-5, 100)).toBe(0);
  expect(stepOf(500, 100)).toBe(SCALE_STEPS);
  expect(stepOf(0, 0)).toBe(0);
});
