import { describe, expect, it } from 'vitest';
import { growthOf, judgeSoak, p99Drift, type SoakSample } from './samples.ts';

/** An hour of samples that the given functions of the minute shape. */
function hour(shape: {
  readonly rss?: (minute: number) => number;
  readonly descriptors?: (minute: number) => number;
  readonly p99?: (minute: number) => number;
  readonly acknowledged?: (minute: number) => number;
}): SoakSample[] {
  return Array.from({ length: 60 }, (_, minute) => ({
    minute,
    sizes: {
      'worker-pool': {
        rss: shape.rss?.(minute) ?? 100_000,
        pss: 50_000,
        own: 50_000,
        descriptors: shape.descriptors?.(minute) ?? 40,
      },
    },
    pingP99Ms: [shape.p99?.(minute) ?? 100],
    jobs: 10,
    targeted: 1_000,
    acknowledged: shape.acknowledged?.(minute) ?? 1_000,
    resends: 0,
    failures: 0,
  }));
}

describe('judgeSoak', () => {
  it('passes a master that stays as it is, also one that grew while it warmed up', () => {
    expect(judgeSoak(hour({})).passed).toBe(true);
    const rss = (minute: number) => (minute < 10 ? 60_000 + minute * 4_000 : 100_000);
    expect(judgeSoak(hour({ rss })).passed).toBe(true);
  });

  it('fails one whose memory grows by 10 %, and names it', () => {
    const rss = (minute: number) => 100_000 * (1 + (0.1 * minute) / 60) + (minute % 2) * 500;
    const { passed, text } = judgeSoak(hour({ rss }));
    expect(passed).toBe(false);
    expect(text).toContain('worker-pool (!)');
  });

  it('fails one that opens a descriptor a minute', () => {
    expect(judgeSoak(hour({ descriptors: (minute) => 40 + minute })).passed).toBe(false);
  });

  it('passes one whose connections come and go', () => {
    const comeAndGo = [640, 690, 780, 610, 750, 660, 730];
    const descriptors = (minute: number) => comeAndGo[(minute * minute) % comeAndGo.length]!;
    const { passed } = judgeSoak(hour({ descriptors }));
    expect(passed).toBe(true);
    const leaking = (minute: number) => descriptors(minute) + 5 * minute;
    expect(judgeSoak(hour({ descriptors: leaking })).passed).toBe(false);
  });

  it('fails one that becomes slower', () => {
    expect(judgeSoak(hour({ p99: (minute) => 100 + minute })).passed).toBe(false);
  });

  it('fails one that lost a single return', () => {
    const acknowledged = (minute: number) => (minute === 3 ? 999 : 1_000);
    const { passed, text } = judgeSoak(hour({ acknowledged }));
    expect(passed).toBe(false);
    expect(text).toContain('1 not acknowledged');
  });
});

describe('growthOf', () => {
  it('is the rise of the line over the run', () => {
    const line = [
      [0, 95],
      [10, 100],
      [20, 105],
    ] as const;
    expect(growthOf(line)).toBeCloseTo(0.1);
    expect(growthOf([])).toBe(0);
  });
});

describe('p99Drift', () => {
  it('is not moved by single slow jobs', () => {
    const p99 = (minute: number) => (minute % 20 === 0 ? 5_000 : 100);
    expect(p99Drift(hour({ p99 })).share).toBe(0);
  });
});
