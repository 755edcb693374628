export type { CheckOptions } from './check-ledger.ts';
export { checkLedger } from './check-ledger.ts';
export { databaseUrlOf } from './database-url.ts';
export { drawReport } from './draw-report.ts';
export type { Difference, DifferenceKind, LedgerFigures, LedgerReport } from './report.ts';
