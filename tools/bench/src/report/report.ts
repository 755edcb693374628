import { execFileSync } from 'node:child_process';
import { cpus, release, totalmem } from 'node:os';
import type { Figure } from './figure.ts';
import { drawTable } from './table.ts';

/** The machine that a report was made on. */
export interface Machine {
  readonly cores: number;
  readonly cpu: string;
  readonly memoryGiB: number;
  readonly node: string;
  readonly kernel: string;
}

/** One run of the benchmark, as `--json` writes it. */
export interface Report {
  readonly commit: string;
  /** True where the checkout differed from that commit. */
  readonly changed: boolean;
  readonly command: string;
  /** ISO 8601. */
  readonly startedAt: string;
  readonly seconds: number;
  readonly machine: Machine;
  readonly figures: readonly Figure[];
  /** Rows that failed, with the reason; they never vanish silently. */
  readonly failures: readonly { readonly row: string; readonly reason: string }[];
}

/** Asks the machine what it is. */
export function describeMachine(): Machine {
  const all = cpus();
  return {
    cores: all.length,
    cpu: (all[0]?.model ?? 'unknown').trim(),
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    node: process.version,
    kernel: release(),
  };
}

/** The commit of a checkout, and whether files differ from it. */
export function describeCheckout(dir: string): { commit: string; changed: boolean } {
  const git = (...args: string[]): string =>
    execFileSync('git', ['-C', dir, ...args], { encoding: 'utf8' }).trim();
  return {
    commit: git('rev-parse', '--short=12', 'HEAD'),
    changed: git('status', '--porcelain', '--untracked-files=no') !== '',
  };
}

/** Table, and below it what one must know to judge it. */
export function drawReport(report: Report, aligned = true): string {
  const { machine, commit, changed, command, startedAt, seconds } = report;
  const lines = [
    drawTable(report.figures, aligned),
    '',
    `Commit ${commit}${changed ? ' with changes' : ''}, ${startedAt.slice(0, 10)}, ` +
      `\`${command}\`, ` +
      `${Math.round(seconds / 60)} min on ${machine.cores} cores (${machine.cpu}), ` +
      `${machine.memoryGiB} GiB, Node ${machine.node}, Linux ${machine.kernel}. The load ` +
      'generator, NATS and PostgreSQL run on the same machine. “To” is how many times better ' +
      'Brine is: the median of alternating pairs, and their quartiles.',
  ];
  if (report.figures.some(({ cells }) => Object.values(cells).some((cell) => cell.rigBound))) {
    lines.push('', '“rig”: the load generator was the limit; the master could do more.');
  }
  for (const { row, reason } of report.failures) lines.push('', `Not measured: ${row}: ${reason}`);
  return `${lines.join('\n')}\n`;
}

/** Marks between which {@link replaceTable} writes. */
export const MARKS = { begin: '<!-- bench: begin -->', end: '<!-- bench: end -->' } as const;

/**
 * Puts a report between the marks of a document.
 * @throws Error where the document lacks one of them.
 */
export function replaceTable(document: string, report: Report): string {
  const begin = document.indexOf(MARKS.begin);
  const end = document.indexOf(MARKS.end);
  if (begin < 0 || end < begin) throw new Error(`${MARKS.begin} … ${MARKS.end} not found`);
  const head = document.slice(0, begin + MARKS.begin.length);
  return `${head}\n\n${drawReport(report, false)}\n${document.slice(end)}`;
}
