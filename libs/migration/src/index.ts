export { migrateFromStock } from './migrate-from-stock.ts';
export { migrateToStock } from './migrate-to-stock.ts';
export { StoppedError } from './stopped-error.ts';
