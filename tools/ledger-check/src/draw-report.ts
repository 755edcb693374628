import { DIFFERENCE_KINDS, type DifferenceKind, type LedgerReport } from './report.ts';

/** A report as text with at most `max` differences. */
export function drawReport(report: LedgerReport, max = 50): string {
  const { figures: f, differences, counts } = report;
  const states = Object.entries(f.states).map(([state, count]) => `${count} ${state}`);
  const lines = [
    `jobs: ${f.publishes} asked for, ${f.published} acknowledged, ${f.jobs} stored, ` +
      `${f.closed} closed`,
    `targeted ${f.targeted}: ${states.join(', ')}`,
    `minions: ${f.received} received (${f.receivedAgain} again), ${f.sent} answered ` +
      `(${f.resent} re-sends), ${f.acknowledged} acknowledged, ${f.givenUp} given up`,
    `returns: ${f.stored} stored (${f.storedUnacknowledged} of them never acknowledged), ` +
      `${f.evidence} kept as evidence, ${f.ofOthers} of other minions`,
  ];
  const kinds = Object.entries(counts) as [DifferenceKind, number][];
  if (kinds.length === 0) return `${[...lines, 'no difference'].join('\n')}\n`;
  for (const [kind, count] of kinds) {
    lines.push(`${count} × ${kind}: ${DIFFERENCE_KINDS[kind]}`);
  }
  for (const { kind, jid, id, detail } of differences.slice(0, max)) {
    lines.push(`  ${[kind, jid, id, detail].filter((part) => part !== undefined).join(' ')}`);
  }
  const more = kinds.reduce((sum, [, count]) => sum + count, 0) - max;
  if (more > 0) lines.push(`  … and ${more} more`);
  return `${lines.join('\n')}\n`;
}
