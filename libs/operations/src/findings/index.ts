export { checkForce } from './check-force.ts';
export type { Finding } from './finding.ts';
export { findingLines, worstFirst } from './finding-lines.ts';
export { runbookOf } from './runbook.ts';
