import { markdownTable } from 'markdown-table';
import { estimateRatio, type RatioEstimate } from '../measure/statistics.ts';

/** Result of a comparison. */
export type Verdict = 'slower' | 'same' | 'faster';

/** A verdict and what it rests on. */
export interface Judgement extends RatioEstimate {
  readonly verdict: Verdict;
}

/**
 * Judges the CPU per return of a change against that of its base, pair by pair. `slower` only
 * where the whole 95 % interval lies above the threshold: a doubt is no verdict.
 */
export function judge(ratios: readonly number[], thresholdPercent: number): Judgement {
  const estimate = estimateRatio(ratios);
  const bound = 1 + thresholdPercent / 100;
  if (estimate.low > bound) return { ...estimate, verdict: 'slower' };
  if (estimate.high < 1 / bound) return { ...estimate, verdict: 'faster' };
  return { ...estimate, verdict: 'same' };
}

/** Whether the interval lies on one side of the threshold: more pairs would change nothing. */
export function isDecided({ low, high }: Judgement, thresholdPercent: number): boolean {
  const bound = 1 + thresholdPercent / 100;
  return low > bound || high < bound;
}

/** `slower: 1.148 times the CPU per return (1.121 to 1.170, 14 pairs)`. */
export function sayJudgement({ verdict, ratio, low, high, pairs }: Judgement): string {
  const between = `${low.toFixed(3)} to ${high.toFixed(3)}, 95 %, ${pairs} pairs`;
  return `${verdict}: ${ratio.toFixed(3)} times the CPU per return (${between})`;
}

/** Runs with and without a plant, side by side. */
export function drawVerdicts(
  planted: readonly Judgement[],
  plain: readonly Judgement[],
  percent: number,
): string {
  const show = (one: Judgement | undefined): string =>
    one === undefined
      ? ''
      : `${one.verdict}: ${one.ratio.toFixed(3)} (${one.low.toFixed(3)}–${one.high.toFixed(3)})`;
  const rows = planted.map((one, run) => [String(run + 1), show(one), show(plain[run])]);
  return markdownTable([['run', `with ${percent} %`, 'without'], ...rows]);
}
