import { drawReport, type LedgerReport } from '@brine/ledger-check';
import type { LoadCounts } from './load.ts';
import type { RecoverySpread } from './recovery.ts';
import type { ChaosReport } from './run-chaos.ts';

/** A report as text. */
export function drawChaos(report: ChaosReport): string {
  const { faults, load, failures, ledger, seed, recovery, ok } = report;
  const spread = (of: RecoverySpread | undefined, what: string): string => {
    if (of === undefined) return `${what}: never`;
    const { p50, p99, max, count } = of;
    return `${what}: p50 ${p50} ms, p99 ${p99} ms, longest ${max} ms, of ${count} recoveries`;
  };
  const lines = [
    '',
    `seed ${seed}: ${faults.length} faults`,
    spread(recovery.served, 'first complete job'),
    spread(recovery.stored, 'and stored'),
    drawLoad(load),
    ...(ledger === undefined ? [] : [drawReport(ledger).trimEnd()]),
    ...failures.map((what) => `FAILED: ${what}`),
    ok ? 'ok' : `FAILED: seed ${seed}`,
  ];
  return `${lines.join('\n')}\n`;
}

/** The answers to the client, as text. */
export function drawLoad(load: LoadCounts): string {
  return (
    `jobs: ${load.jobs} asked for, ${load.refused} refused, ${load.unsure} unsure, ` +
    `${load.unanswered} unanswered, ${load.leftOut} left out`
  );
}

/** The end of each report: the ledger, and the verdict. */
export function drawEnd(ledger: LedgerReport | undefined, ok: boolean): string {
  const books = ledger === undefined ? '' : `\n${drawReport(ledger)}`;
  return `\n${books}\n${ok ? 'ok' : 'NOT OK'}\n`;
}
