export type { BatchStep } from './batch-run.ts';
export { batchSize, highestRetcode, runBatch } from './batch-run.ts';
export type { Command, JobReturn, PublishedCommand } from './command.ts';
export {
  BatchSizeError,
  MasterUnreachableError,
  NodegroupError,
  RefusedError,
  RequestTimeoutError,
} from './errors.ts';
export {
  CompoundCommandError,
  parseArguments,
  parseCompound,
  yamlArgument,
} from './function-arguments.ts';
export { noResponseText } from './gather.ts';
export type { ClientSettings } from './local-client.ts';
export { LocalClient } from './local-client.ts';
export type { Nodegroups } from './nodegroup.ts';
export type { DisplayOptions } from './output/display.ts';
export { displayOf, jointOf } from './output/display.ts';
export { DEFAULT_STATE_DISPLAY } from './output/outputter.ts';
export type { ClientPorts } from './ports.ts';
export { RUNNERS } from './runners/all-runners.ts';
export { callRunner } from './runners/call.ts';
export { JobRecords } from './runners/job-records.ts';
export { timeOf, UNKNOWN_JOB } from './runners/jobs.ts';
export type {
  RowSeal,
  RunnerContext,
  RunnerFunction,
  RunnerMaster,
} from './runners/runner-function.ts';
export {
  bindArguments,
  InvalidArgumentsError,
  splitKeywords,
  UnknownKeywordError,
} from './runners/runner-function.ts';
