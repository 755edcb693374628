export type { AuditedAct, AuditPage } from './audit.ts';
export { auditQuery, auditSchema } from './audit.ts';
export type { BatchDetail, BatchesShown } from './batches.ts';
export { batchesQuery, batchesSchema, batchSchema, stopSchema } from './batches.ts';
export type { Acted, ReactionFailures, Reactor, ReactorAct } from './reactor.ts';
export {
  actedSchema,
  failuresQuery,
  failuresSchema,
  reactorActSchema,
  reactorSchema,
} from './reactor.ts';
export type { NewRun, RunDetail, RunsPage, RunStep } from './runs.ts';
export { newRunSchema, runSchema, runsQuery, runsSchema } from './runs.ts';
export type { Schedule, ScheduleAct, ScheduleActInput, ScheduledRun } from './schedule.ts';
export { scheduleActSchema, scheduleSchema } from './schedule.ts';
