export { isRefused, JobCacheError, stateOf } from './connection/errors.ts';
export { grantRoles } from './connection/roles.ts';
export { CopyIn } from './copy/copy-in.ts';
export { CopyOut } from './copy/copy-out.ts';
export { DURATION_BOUNDS } from './counters/counting.ts';
export type { DurationExample } from './counters/duration-examples.ts';
export type { FleetCount } from './counters/fleet-counts.ts';
export { FleetCounts } from './counters/fleet-counts.ts';
export type { DurableTask } from './durable/durable-jobs.ts';
export type { DurableRow } from './durable/durable-row.ts';
export { EventTable, isRefusedEvent } from './events/event-table.ts';
export {
  EXCHANGE_KINDS,
  ExchangeError,
  exchangeHead,
  exchangeLines,
  ExchangeReader,
} from './exchange/exchange-format.ts';
export { stockJobLine, stockReturnLine } from './exchange/stock-rows.ts';
export type { TableReturn } from './exchange/stock-tables.ts';
export { StockTables } from './exchange/stock-tables.ts';
export { JobCache } from './job-cache.ts';
export type { DatabaseFacts, FactRow } from './read/database-facts.ts';
export { databaseFacts } from './read/database-facts.ts';
export type { JobWithLedger } from './read/get-job.ts';
export { getJob } from './read/get-job.ts';
export type { Ledger } from './read/ledger.ts';
export { getCounts } from './read/ledger.ts';
export type { ListJobsOptions } from './read/list-jobs.ts';
export type { QuarantineFilter, QuarantineRow } from './read/quarantine-rows.ts';
export type { SilentMinion, SilentPage } from './read/silent-minions.ts';
export type { Unfit } from './save/batch.ts';
export type { Refusal } from './save/quarantine.ts';
export { refusedDurable, refusedJob, refusedReturn } from './save/quarantine-forms.ts';
export type {
  JobRow,
  LogInRow,
  RefusedRow,
  ReturnRow,
  SaveReport,
  SightingKind,
  SightingRow,
} from './save/rows.ts';
