import { describe, expect, it } from 'vitest';
import {
  estimateRatio,
  pairedRatios,
  percentile,
  signedRankCut,
  slopeOf,
  spreadOf,
} from './statistics.ts';

describe('spreadOf', () => {
  it('gives the five numbers of a distribution, whatever the order', () => {
    expect(spreadOf([5, 1, 3, 2, 4])).toEqual({
      median: 3,
      low: 1,
      high: 5,
      q1: 2,
      q3: 4,
      count: 5,
    });
  });

  it('has nothing to say of no values', () => {
    expect(spreadOf([])).toBeUndefined();
  });
});

describe('pairedRatios', () => {
  it('divides pair by pair and leaves out what is no ratio', () => {
    expect(pairedRatios([2, 9, 5, 0], [1, 3, 0, 4, 7])).toEqual([2, 3]);
  });
});

describe('signedRankCut', () => {
  // Critical values of the two-sided signed-rank test at 0.05, as in any table of it.
  it.each([
    [6, 0],
    [8, 3],
    [10, 8],
    [12, 13],
    [15, 25],
    [20, 52],
  ])('for %i pairs is the critical value %i of the table', (pairs, critical) => {
    expect(signedRankCut(pairs, 0.05)).toBe(critical);
  });
});

describe('estimateRatio', () => {
  it('finds a constant ratio exactly, with no width', () => {
    const found = estimateRatio(Array.from({ length: 12 }, () => 1.15));
    expect(found.ratio).toBeCloseTo(1.15, 10);
    expect(found.low).toBeCloseTo(1.15, 10);
    expect(found.high).toBeCloseTo(1.15, 10);
    expect(found.pairs).toBe(12);
  });

  it('is not moved by one wild pair', () => {
    const calm = [1.0, 1.01, 0.99, 1.02, 0.98, 1.0, 1.01, 0.99, 1.0, 1.01, 0.99];
    const { ratio, low, high } = estimateRatio([...calm, 4]);
    expect(ratio).toBeGreaterThan(0.99);
    expect(ratio).toBeLessThan(1.02);
    expect(low).toBeLessThan(1);
    expect(high).toBeLessThan(1.1);
  });

  it('holds the true ratio in 95 of 100 intervals', () => {
    const random = generator(7);
    let held = 0;
    const runs = 400;
    for (let run = 0; run < runs; run += 1) {
      const ratios = Array.from({ length: 12 }, () => 1.15 * Math.exp(0.1 * normal(random)));
      const { low, high } = estimateRatio(ratios);
      if (low <= 1.15 && 1.15 <= high) held += 1;
    }
    expect(held / runs).toBeGreaterThan(0.92);
    expect(held / runs).toBeLessThan(0.99);
  });

  it('refuses to judge by five pairs', () => {
    expect(() => estimateRatio([1, 1, 1, 1, 1])).toThrow(RangeError);
  });
});

describe('slopeOf', () => {
  it('is the rise of a line, and 0 if the points give none', () => {
    expect(
      slopeOf([
        [0, 1],
        [1, 3],
        [2, 5],
      ]),
    ).toBeCloseTo(2);
    expect(
      slopeOf([
        [1, 1],
        [1, 9],
      ]),
    ).toBe(0);
    expect(slopeOf([[1, 1]])).toBe(0);
  });
});

describe('percentile', () => {
  it('is the nearest rank', () => {
    const values = Array.from({ length: 100 }, (_, index) => 100 - index);
    expect(percentile(values, 0.99)).toBe(99);
    expect(percentile(values, 0.5)).toBe(50);
    expect(percentile([3], 0.99)).toBe(3);
    expect(percentile([], 0.5)).toBeNaN();
  });
});

/** Numbers from 0 to 1 that are the same in every run (mulberry32). */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A normally distributed number (Box and Muller). */
function normal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}
