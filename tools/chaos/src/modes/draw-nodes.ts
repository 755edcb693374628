import { drawReport } from '@brine/ledger-check';
import type { NodesReport } from './nodes.ts';

/** The report as a person reads it. */
export function drawNodes(report: NodesReport): string {
  const { losses, load, failures, ledger, ok } = report;
  const ms = (value: number | undefined): string => (value === undefined ? '-' : value.toFixed(0));
  const lines = [
    `${losses.length} nodes lost; ms until the first complete job, and until it was stored:`,
    ...losses.map(({ node, recovery }) => {
      return `  ${node}: ${ms(recovery?.servedMs)}, ${ms(recovery?.storedMs)}`;
    }),
    `jobs: ${load.jobs} asked for, ${load.refused} refused, ${load.unsure} unsure, ` +
      `${load.unanswered} unanswered, ${load.leftOut} left out`,
    ...failures.map((failure) => `failure: ${failure}`),
  ];
  const books = ledger === undefined ? '' : `\n${drawReport(ledger)}`;
  return `${lines.join('\n')}\n${books}\n${ok ? 'ok' : 'NOT OK'}\n`;
}
