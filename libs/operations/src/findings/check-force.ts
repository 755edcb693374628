import type { ConfigWarning } from '@brine/config';
import type { Finding } from './finding.ts';

const LEVELS: Readonly<Record<ConfigWarning['kind'], Finding['level']>> = {
  refused: 'bad',
  unused: 'warn',
  unknown: 'warn',
  missing: 'warn',
  odd: 'warn',
  harmless: 'ok',
};

/** One finding for each set option that is not in force, as the master logs them at its start. */
export function checkForce(warnings: readonly ConfigWarning[]): Finding[] {
  const findings = warnings.map(({ kind, text, option }): Finding => {
    const end = kind === 'refused' ? '; the master does not start with it' : '';
    return { level: LEVELS[kind], check: option ?? 'configuration', text: `${text}${end}` };
  });
  const inForce = { level: 'ok', check: 'options', text: 'all options are in force' } as const;
  return findings.length > 0 ? findings : [inForce];
}
