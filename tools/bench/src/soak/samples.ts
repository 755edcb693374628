import { markdownTable } from 'markdown-table';
import type { ServiceSize } from '../measure/process-tree.ts';
import { percentile, slopeOf, spreadOf } from '../measure/statistics.ts';
import { showNumber } from '../report/table.ts';

/** One minute of a soak. */
export interface SoakSample {
  readonly minute: number;
  /** What each service usually had within it. */
  readonly sizes: Readonly<Record<string, ServiceSize>>;
  /** p99 of `test.ping` over the minions, in ms, one number per job. */
  readonly pingP99Ms: readonly number[];
  readonly jobs: number;
  readonly targeted: number;
  readonly acknowledged: number;
  readonly resends: number;
  /** Log-ins, events, returns that were refused or lost. */
  readonly failures: number;
}

/** What a soak proves or fails to. */
export interface SoakVerdict {
  readonly text: string;
  readonly passed: boolean;
}

/** Growth over the run and drift of the p99 above which a soak has failed. */
const RSS_GROWTH_MAX = 0.05;
const P99_DRIFT_MAX = 0.1;
/** A service may open a connection more; a leak opens one per job. */
const DESCRIPTORS_GROWTH_MAX = 0.05;
const DESCRIPTORS_FREE = 8;
/**
 * The first part warms up: pools, caches, compiled code, and the streams, which keep the last
 * 15 minutes (libs/bus trim-streams). Of a short run at most half.
 */
const WARM_UP_MINUTES = 17;
const WARM_UP_SHARE_MAX = 0.5;
const KIB_PER_MIB = 1_024;
/**
 * The one service whose processes share memory: buffers of a fixed size that fill for hours. Its
 * PSS is judged without them.
 */
const POSTGRESQL = 'postgresql';

/** The table and the verdict of a soak, from the samples after the warm-up. */
export function judgeSoak(samples: readonly SoakSample[]): SoakVerdict {
  const warmUp = Math.min(WARM_UP_MINUTES, Math.floor(samples.length * WARM_UP_SHARE_MAX));
  const counted = samples.slice(warmUp);
  const services = new Set(counted.flatMap(({ sizes }) => Object.keys(sizes)));
  const rows = [...services].map((name) => judgeService(name, counted));
  const drift = p99Drift(counted);
  const sum = (of: (sample: SoakSample) => number): number =>
    samples.reduce((all, sample) => all + of(sample), 0);
  const targeted = sum((one) => one.targeted);
  const lost = targeted - sum((one) => one.acknowledged);
  const failures = sum((one) => one.failures);
  const passed =
    counted.length >= 2 &&
    rows.every((row) => row.passed) &&
    drift.share <= P99_DRIFT_MAX &&
    lost === 0 &&
    failures === 0;
  const head = [
    'service',
    'RSS (PostgreSQL: PSS but its buffers) MiB, first',
    'last',
    'slope over the run',
    'PSS MiB',
    'descriptors',
  ];
  const align = ['l', 'r', 'r', 'r', 'r', 'r'];
  const lines = [
    markdownTable([head, ...rows.map(({ cells }) => cells)], { align }),
    '',
    `test.ping p99: ${showNumber(drift.first)} ms in the first half, ` +
      `${showNumber(drift.last)} ms in the second (${percent(drift.share)})`,
    `${sum((one) => one.jobs)} jobs, ${targeted} targeted, ${lost} not acknowledged, ` +
      `${sum((one) => one.resends)} re-sends, ${failures} other failures`,
    `verdict over minutes ${counted[0]?.minute ?? 0} to ${counted.at(-1)?.minute ?? 0}: ` +
      (passed ? 'passed' : 'FAILED'),
  ];
  return { text: lines.join('\n'), passed };
}

function judgeService(
  name: string,
  samples: readonly SoakSample[],
): { readonly cells: string[]; readonly passed: boolean } {
  const series = (of: (size: ServiceSize) => number): (readonly [number, number])[] =>
    samples.flatMap(({ minute, sizes }) => {
      const size = sizes[name];
      return size === undefined ? [] : [[minute, of(size)] as const];
    });
  // Each backend of PostgreSQL counts the shared buffers it has touched, and backends come and go.
  const isShared = name === POSTGRESQL;
  const rss = series((size) => (isShared ? size.own : size.rss) / KIB_PER_MIB);
  const open = series((size) => size.descriptors).map(([, count]) => count);
  const growth = growthOf(rss);
  // Backends come and go, and each has its own: the usual count, not that of one moment.
  const third = Math.max(1, Math.floor(open.length / 3));
  const [firstOpen, lastOpen] = [usual(open.slice(0, third)), usual(open.slice(-third))];
  const steady = lastOpen <= firstOpen * (1 + DESCRIPTORS_GROWTH_MAX) + DESCRIPTORS_FREE;
  const passed = growth <= RSS_GROWTH_MAX && steady;
  const cells = [
    passed ? name : `${name} (!)`,
    showNumber(rss[0]?.[1] ?? 0),
    showNumber(rss.at(-1)?.[1] ?? 0),
    percent(growth),
    showNumber((samples.at(-1)?.sizes[name]?.pss ?? 0) / KIB_PER_MIB),
    `${firstOpen} → ${lastOpen}`,
  ];
  return { cells, passed };
}

function usual(counts: readonly number[]): number {
  return Math.round(spreadOf(counts)?.median ?? 0);
}

/** Growth of the fitted line over the whole run, as a share of the median. */
export function growthOf(points: readonly (readonly [number, number])[]): number {
  const first = points[0]?.[0] ?? 0;
  const last = points.at(-1)?.[0] ?? 0;
  const middle = spreadOf(points.map(([, value]) => value))?.median ?? 0;
  return middle === 0 ? 0 : (slopeOf(points) * (last - first)) / middle;
}

/** The median of the jobs' p99 in both halves: single slow jobs are no drift. */
export function p99Drift(samples: readonly SoakSample[]): {
  readonly first: number;
  readonly last: number;
  readonly share: number;
} {
  const half = Math.floor(samples.length / 2);
  const middle = (some: readonly SoakSample[]): number => {
    const all = some.flatMap(({ pingP99Ms }) => pingP99Ms);
    return percentile(all, 0.5);
  };
  const [first, last] = [middle(samples.slice(0, half)), middle(samples.slice(half))];
  return { first, last, share: last / first - 1 };
}

function percent(share: number): string {
  return `${share >= 0 ? '+' : ''}${(share * 100).toFixed(1)} %`;
}
