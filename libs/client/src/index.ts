export { CompoundCommandError, parseArguments, parseCompound, yamlArgument } from './arguments.ts';
export type { BatchStep } from './batch.ts';
export { batchSize, highestRetcode, runBatch } from './batch.ts';
export {
  BatchSizeError,
  MasterUnreachableError,
  NodegroupError,
  RefusedError,
  RequestTimeoutError,
} from './errors.ts';
export { noResponseText } from './gather.ts';
export type { JobReturn } from './load.ts';
export type { Command } from './load.ts';
export type { PublishedCommand } from './load.ts';
export type { ClientSettings } from './local-client.ts';
export { LocalClient } from './local-client.ts';
export type { Nodegroups } from './nodegroup.ts';
export type { DisplayOptions } from './output/display.ts';
export { displayOf } from './output/display.ts';
export { jointOf } from './output/joint.ts';
export { DEFAULT_STATE_DISPLAY } from './output/outputter.ts';
export type { ClientPorts } from './ports.ts';
export { RUNNERS } from './runners/all-runners.ts';
export { callRunner } from './runners/call.ts';
export type { RowSeal, RunnerContext, RunnerFunction, RunnerMaster } from './runners/function.ts';
export {
  bindArguments,
  InvalidArgumentsError,
  splitKeywords,
  UnknownKeywordError,
} from './runners/function.ts';
export { JobRecords } from './runners/job-records.ts';
export { timeOf, UNKNOWN_JOB } from './runners/jobs.ts';
export { asText } from './runners/text.ts';
