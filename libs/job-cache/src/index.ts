export { isRefused, JobCacheError, messageOf } from './errors.ts';
export { DURATION_BOUNDS } from './count-rows.ts';
export { DurableJobs } from './durable-jobs.ts';
export {
  EXCHANGE_KINDS,
  ExchangeError,
  ExchangeReader,
  exchangeHead,
  exchangeLines,
} from './exchange-format.ts';
export { FleetCounts } from './fleet-counts.ts';
export { getJob } from './get-job.ts';
export { JobCache } from './job-cache.ts';
export { refusedDurable, refusedJob, refusedReturn } from './refused-rows.ts';
export { grantRoles } from './roles.ts';
export { startPostgres } from './embedded/start-postgres.ts';

export type { Unfit } from './batch.ts';
export type { JobCacheErrorCode } from './errors.ts';
export type { DurableRow, DurableTask, DurableWork, OpenDurable } from './durable-jobs.ts';
export type { DurationExample } from './duration-examples.ts';
export type { ExchangeKind, ExchangeRow } from './exchange-format.ts';
export type { ExportPage } from './export-rows.ts';
export type { FleetCount } from './fleet-counts.ts';
export type { ReturnPage } from './get-jid.ts';
export type { ImportCounts } from './import-rows.ts';
export type { Job, Ledger, ReturnState } from './get-job.ts';
export type { JobAt } from './job-at.ts';
export type { JobCacheOptions } from './job-cache.ts';
export type { JobPage, ListJobsOptions } from './list-jobs.ts';
export type { OutstandingJob } from './outstanding.ts';
export type { Refusal } from './quarantine.ts';
export type { Quarantined, QuarantinedHead, QuarantineFilter } from './quarantined-rows.ts';
export type {
  JobRow,
  LogInRow,
  RefusedRow,
  ReturnRow,
  SaveReport,
  SightingKind,
  SightingRow,
  StreamPosition,
} from './rows.ts';
export type { Sighting, SilentMinion, SilentPage } from './silent-minions.ts';
export type { RunningPostgres, StartPostgresOptions } from './embedded/start-postgres.ts';
export type { AuditStored } from './audit.ts';
