import { drawReport } from '@brine/ledger-check';
import { drawChaos } from '../../draw-chaos.ts';
import type { TreeReport } from './run-tree.ts';

/** The report as a person reads it. */
export function drawTree({ above, below, both, ok }: TreeReport): string {
  const lines = [
    `jobs above: ${both.jobs}, of which ${both.neverBelow} never came below`,
    `returns to them counted below: ${both.below}, above: ${both.above}`,
    ...both.differences.map((difference) => `difference: ${difference}`),
  ];
  return (
    `above\n${drawChaos(above)}\nbelow\n${drawReport(below)}\n` +
    `${lines.join('\n')}\n${ok ? 'ok' : 'NOT OK'}\n`
  );
}
