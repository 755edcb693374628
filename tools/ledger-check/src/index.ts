export { checkLedger } from './check-ledger.ts';
export { drawReport } from './draw-report.ts';
export { databaseUrlOf } from './database-url.ts';

export type { CheckOptions } from './check-ledger.ts';
export type { Difference, DifferenceKind, LedgerFigures, LedgerReport } from './report.ts';
