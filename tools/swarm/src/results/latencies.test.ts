import { describe, expect, it } from 'vitest';
import { Latencies } from './latencies.ts';

describe('Latencies', () => {
  it('gives percentiles within a percent, and the exact maximum', () => {
    const latencies = new Latencies();
    for (let i = 1; i <= 10_000; i += 1) latencies.add(i / 10);
    for (const [part, expected] of [
      [0.5, 500],
      [0.99, 990],
      [0.001, 1],
    ] as const) {
      expect(Math.abs(latencies.percentile(part) / expected - 1)).toBeLessThan(0.01);
    }
    expect(latencies.percentile(1)).toBe(1000);
    expect(latencies.maxMs).toBe(1000);
  });

  it('joins what several processes counted as if one had', () => {
    const one = new Latencies();
    const other = new Latencies();
    const both = new Latencies();
    for (let i = 0; i < 1000; i += 1) {
      const ms = (i * 7919) % 1000;
      (i % 2 === 0 ? one : other).add(ms);
      both.add(ms);
    }
    one.merge(other.data());
    expect(one.count).toBe(1000);
    expect(one.data()).toEqual(both.data());
  });

  it('takes durations of any size, and none', () => {
    const latencies = new Latencies();
    expect(latencies.percentile(0.99)).toBe(0);
    for (const ms of [-1, 0, 1e-9, 1e12]) latencies.add(ms);
    expect(latencies.count).toBe(4);
    expect(latencies.maxMs).toBe(1e12);
  });
});
