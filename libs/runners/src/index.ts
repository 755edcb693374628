export { bindArguments } from './arguments.ts';
export { settingsOf as batchSettings } from './batch/batch-plan.ts';
export type { BatchNews, BatchPorts } from './batch/batch-work.ts';
export { BatchRefusedError, workBatch } from './batch/batch-work.ts';
export { adoptStockBatch } from './batch/stock-batch.ts';
export type { MasterContext } from './call.ts';
export { callFunction, isKnown, runFunction, runnerNamed, signatureOf } from './call.ts';
export type {
  GivenArguments,
  OwnedWork,
  RowSeal,
  RunnerContext,
  RunnerFunction,
  RunnerMaster,
  Shown,
  SiteDocs,
} from './function.ts';
export type { FileServerAdmin, HostFiles, HostPorts, OwnStates } from './host-ports.ts';
export { timeOf, UNKNOWN_JOB } from './jobs/jobs.ts';
export { compareVersions } from './minions/salt-version.ts';
export type { OwnedKind, OwnedRun, OwnedRunRecord, OwnedRuns } from './owned-run.ts';
export { RunReleasedError } from './owned-run.ts';
export { OWNED_WORK } from './owned-work.ts';
export { queryWeb } from './plain/http.ts';
export { refusedBecause } from './plain/refused.ts';
export type { ReactorAdmin } from './reactor-admin.ts';
export type { ScheduleAdmin, ScheduledRun } from './schedule/schedule-admin.ts';
export { RUNNERS, WHEELS } from './table.ts';
