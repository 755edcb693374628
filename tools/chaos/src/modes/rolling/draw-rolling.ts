import { drawReport } from '@brine/ledger-check';
import type { RollingReport } from './run-rolling.ts';

/** The report as a person reads it. */
export function drawRolling(report: RollingReport): string {
  const { rounds, load, commands, logIns, written, failures, ledger, forgiven, ok } = report;
  const seconds = rounds.map((round) => round.seconds.toFixed(1)).join(', ');
  const real = Object.entries(logIns.real).map(([id, count]) => `${id} ${count}`);
  const lines = [
    `${rounds.length} rolling restarts, each of all services, in s: ${seconds}`,
    `jobs: ${load.jobs} asked for, ${load.refused} refused, ${load.unsure} unsure, ` +
      `${load.unanswered} unanswered, ${load.leftOut} left out`,
    `commands: ${commands.typed} typed, ${commands.failed.length} failed`,
    `log-ins of simulated minions: ${logIns.before} to begin with, ${logIns.during} more: ` +
      `${rounds.map((round) => round.logIns).join(', ')} after each restart`,
    ...(real.length > 0
      ? [`log-ins of real minions since the first restart: ${real.join(', ')}`]
      : []),
    `returns in the stream: ${written.alone} alone, ${written.paged} in ${written.pages} pages`,
    `subscriptions lost and made again: ${logIns.subscriptions}`,
    ...commands.failed.map((said) => `failed: ${said}`),
    ...failures.map((failure) => `failure: ${failure}`),
    ...forgiven.map((jid) => `made twice by a gateway of the release before: ${jid}`),
  ];
  const books = ledger === undefined ? '' : `\n${drawReport(ledger)}`;
  return `${lines.join('\n')}\n${books}\n${ok ? 'ok' : 'NOT OK'}\n`;
}
