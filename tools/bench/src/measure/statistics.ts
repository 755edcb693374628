import { mean, median, quantile } from 'simple-statistics';

/** A distribution in five numbers. */
export interface Spread {
  readonly median: number;
  readonly low: number;
  readonly high: number;
  /** First and third quartile. */
  readonly q1: number;
  readonly q3: number;
  readonly count: number;
}

/** Median, quartiles and extremes; undefined for no values. */
export function spreadOf(values: readonly number[]): Spread | undefined {
  if (values.length === 0) return undefined;
  const sorted = [...values].sort((a, b) => a - b);
  return {
    median: median(sorted),
    low: sorted[0] ?? Number.NaN,
    high: sorted.at(-1) ?? Number.NaN,
    q1: quantile(sorted, 0.25),
    q3: quantile(sorted, 0.75),
    count: sorted.length,
  };
}

/** The ratio of each pair; pairs without a positive number on both sides are left out. */
export function pairedRatios(over: readonly number[], under: readonly number[]): number[] {
  const pairs = Math.min(over.length, under.length);
  const ratios: number[] = [];
  for (let index = 0; index < pairs; index += 1) {
    const ratio = (over[index] ?? Number.NaN) / (under[index] ?? Number.NaN);
    if (Number.isFinite(ratio) && ratio > 0) ratios.push(ratio);
  }
  return ratios;
}

/** The typical ratio of pairs with a confidence interval. */
export interface RatioEstimate {
  readonly ratio: number;
  readonly low: number;
  readonly high: number;
  readonly pairs: number;
}

/**
 * Hodges and Lehmann's estimate of the typical ratio, with the interval that belongs to Wilcoxon's
 * signed-rank test: the Walsh averages of the logarithms, and those between which the test would
 * not reject. Robust: a few wild pairs do not move it. Two-sided, `confidence` as 0.95.
 * @throws RangeError for fewer than 6 pairs, which can prove nothing at 0.95.
 */
export function estimateRatio(ratios: readonly number[], confidence = 0.95): RatioEstimate {
  const n = ratios.length;
  if (n < 6) throw new RangeError(`${n} pairs are too few for a verdict`);
  const logs = ratios.map(Math.log);
  const walsh: number[] = [];
  for (let i = 0; i < n; i += 1) {
    for (let j = i; j < n; j += 1) walsh.push(((logs[i] ?? 0) + (logs[j] ?? 0)) / 2);
  }
  walsh.sort((a, b) => a - b);
  const cut = signedRankCut(n, 1 - confidence);
  return {
    ratio: Math.exp(median(walsh)),
    low: Math.exp(walsh[cut] ?? Number.NaN),
    high: Math.exp(walsh[walsh.length - 1 - cut] ?? Number.NaN),
    pairs: n,
  };
}

/**
 * How many Walsh averages the interval leaves out at each end: the largest rank sum that is reached
 * or fallen below with at most half of `alpha`, exactly, by counting the subsets of 1…n.
 */
export function signedRankCut(n: number, alpha: number): number {
  const most = (n * (n + 1)) / 2;
  const ways = new Float64Array(most + 1);
  ways[0] = 1;
  for (let rank = 1; rank <= n; rank += 1) {
    for (let sum = most; sum >= rank; sum -= 1) {
      ways[sum] = (ways[sum] ?? 0) + (ways[sum - rank] ?? 0);
    }
  }
  let below = 0;
  for (let cut = 0; cut <= most; cut += 1) {
    below += (ways[cut] ?? 0) / 2 ** n;
    if (below > alpha / 2) return Math.max(0, cut - 1);
  }
  return most;
}

/** Slope of a straight line through (x, y) by least squares; 0 where x does not vary. */
export function slopeOf(points: readonly (readonly [number, number])[]): number {
  if (points.length < 2) return 0;
  const meanX = mean(points.map(([x]) => x));
  const meanY = mean(points.map(([, y]) => y));
  let products = 0;
  let squares = 0;
  for (const [x, y] of points) {
    products += (x - meanX) * (y - meanY);
    squares += (x - meanX) ** 2;
  }
  return squares === 0 ? 0 : products / squares;
}

/** Value below which the share of the values lies (nearest rank); NaN for no values. */
export function percentile(values: readonly number[], share: number): number {
  if (values.length === 0) return Number.NaN;
  const sorted = [...values].sort((a, b) => a - b);
  const rank = Math.min(sorted.length, Math.max(1, Math.ceil(share * sorted.length)));
  return sorted[rank - 1] ?? Number.NaN;
}
