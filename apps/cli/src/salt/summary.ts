import type { SaltValue } from '@brine/wire';

/** One return as it was shown. */
export interface Row {
  readonly id: string;
  readonly ret: SaltValue;
  readonly out: string;
  readonly retcode: number;
}

const RULE = '-'.repeat(43);

/** The block of `--summary` (Salt: salt/cli/salt.py _print_returns_summary). */
export function summaryText(rows: readonly Row[], verbose: boolean): string {
  const missing = rows.filter(({ ret }) => isMissing(ret));
  const returned = rows.filter(({ ret }) => !isMissing(ret));
  const failed = returned.filter(({ retcode }) => retcode !== 0);
  const lines = [
    '\n',
    RULE,
    'Summary',
    RULE,
    `# of minions targeted: ${rows.length}`,
    `# of minions returned: ${returned.length}`,
    `# of minions that did not return: ${missing.length}`,
    `# of minions with errors: ${failed.length}`,
  ];
  if (verbose) {
    const away = missing.filter(
      ({ ret }) => typeof ret === 'string' && ret.includes('Not connected'),
    );
    const silent = missing.filter((row) => !away.includes(row));
    if (away.length > 0) lines.push(`Minions not connected: ${names(away)}`);
    if (silent.length > 0) lines.push(`Minions not responding: ${names(silent)}`);
    if (failed.length > 0) lines.push(`Minions with failures: ${names(failed)}`);
  }
  return `${[...lines, RULE].join('\n')}\n`;
}

function isMissing(ret: SaltValue): boolean {
  return typeof ret === 'string' && ret.startsWith('Minion did not return');
}

function names(rows: readonly Row[]): string {
  return rows.map(({ id }) => id).join(' ');
}
