import { drawReport } from '@brine/ledger-check';
import { quantile } from 'simple-statistics';
import type { ChaosReport } from './run-chaos.ts';

/** Recovery times over a run, in ms. */
export interface RecoverySpread {
  readonly count: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** Of the times until jobs were served, or stored; undefined where there are none. */
export function spreadOf(
  report: ChaosReport,
  of: 'servedMs' | 'storedMs',
): RecoverySpread | undefined {
  const times = report.faults.flatMap(({ recovery }) => (recovery ? [recovery[of]] : []));
  if (times.length === 0) return undefined;
  const at = (part: number): number => Math.round(quantile(times, part));
  return { count: times.length, p50: at(0.5), p99: at(0.99), max: Math.round(Math.max(...times)) };
}

/** A report as a person reads it. */
export function drawChaos(report: ChaosReport): string {
  const { faults, load, failures, ledger, seed, ok } = report;
  const spread = (of: 'servedMs' | 'storedMs', what: string): string => {
    const found = spreadOf(report, of);
    if (found === undefined) return `${what}: never`;
    const { p50, p99, max, count } = found;
    return `${what}: p50 ${p50} ms, p99 ${p99} ms, longest ${max} ms, of ${count} recoveries`;
  };
  const lines = [
    '',
    `seed ${seed}: ${faults.length} faults`,
    spread('servedMs', 'first complete job'),
    spread('storedMs', 'and stored'),
    `client: ${load.jobs} publishes, ${load.unanswered} unanswered, ${load.refused} refused, ` +
      `${load.unsure} told that there may be a job, ${load.leftOut} left out`,
    ...(ledger === undefined ? [] : [drawReport(ledger).trimEnd()]),
    ...failures.map((what) => `FAILED: ${what}`),
    ok ? 'ok' : `FAILED: seed ${seed}`,
  ];
  return `${lines.join('\n')}\n`;
}
