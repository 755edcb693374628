export type {
  Job,
  JobGroups,
  JobLine,
  JobMinionsPage,
  JobReturn,
  JobsPage,
  JobStates,
  JobTimeline,
  Ledger,
  Silences,
} from './jobs.ts';
export {
  jobGroupsQuery,
  jobGroupsSchema,
  jobMinionsPageSchema,
  jobMinionsQuery,
  jobParams,
  jobQuery,
  jobReturnParams,
  jobReturnQuery,
  jobReturnSchema,
  jobSchema,
  jobsPageSchema,
  jobsQuery,
  jobStatesQuery,
  jobStatesSchema,
  jobTimelineQuery,
  jobTimelineSchema,
  LEDGER_STATES,
  silencesQuery,
  silencesSchema,
} from './jobs.ts';
export type { BegunJob, NewJob } from './new-job.ts';
export { begunJobSchema, newJobSchema, rerunSchema, signalSchema } from './new-job.ts';
export type { JobTrace } from './trace.ts';
export { traceParams, traceSchema } from './trace.ts';
