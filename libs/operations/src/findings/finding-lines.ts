import type { Finding } from './finding.ts';

/** Sorts findings in place. */
export function worstFirst(findings: Finding[]): Finding[] {
  const rank = { bad: 0, warn: 1, ok: 2 } as const;
  return findings.sort((one, other) => rank[one.level] - rank[other.level]);
}

/** One line for each finding. */
export function findingLines(findings: readonly Finding[]): string {
  return findings
    .map(({ level, check, text: line }) => `${level.padEnd(4)}  ${check}: ${line}\n`)
    .join('');
}
