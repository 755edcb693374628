import { describe, expect, it } from 'vitest';
import { drawVerdicts, isDecided, judge, sayJudgement } from './verdict.ts';

/** Twelve ratios around one, a few percent apart. */
function around(ratio: number): number[] {
  return [-3, 2, -1, 0, 1, 3, -2, 1, 0, -1, 2, -2].map((percent) => ratio * (1 + percent / 100));
}

describe('judge', () => {
  it('finds a slowdown of 15 %', () => {
    expect(judge(around(1.15), 5).verdict).toBe('slower');
  });

  it('does not call noise a slowdown, nor one below the threshold', () => {
    expect(judge(around(1), 5).verdict).toBe('same');
    expect(judge(around(1.03), 5).verdict).toBe('same');
  });

  it('calls no difference that it can not prove', () => {
    const wild = [1.6, 0.7, 1.5, 0.8, 1.7, 0.9, 1.4, 0.8, 1.6, 0.9, 1.5, 1.2];
    expect(judge(wild, 5).verdict).toBe('same');
  });

  it('says when more pairs are wanted', () => {
    expect(isDecided(judge(around(1.15), 5), 5)).toBe(true);
    expect(isDecided(judge(around(0.99), 5), 5)).toBe(true);
    expect(isDecided(judge(around(1.05), 5), 5)).toBe(false);
  });

  it('sees that a row became faster', () => {
    expect(judge(around(0.8), 5).verdict).toBe('faster');
  });

  it('names the numbers that it rests on', () => {
    const said = sayJudgement(judge(around(1.15), 5));
    expect(said).toMatch(/^slower: 1\.1\d\d times the CPU per return \(1\.1.*, 95 %, 12 pairs\)$/);
    const table = drawVerdicts([judge(around(1.15), 5)], [judge(around(1), 5)], 15);
    expect(table).toMatch(/slower: 1\.1.*same: /);
  });
});
