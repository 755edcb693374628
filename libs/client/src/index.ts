export type { BatchSettings, BatchStep } from './batch-run.ts';
export { batchSize, highestRetcode, resumeBatch, runBatch } from './batch-run.ts';
export type { ClientSettings } from './client-settings.ts';
export { clientSettings } from './client-settings.ts';
export type { Command, JobReturn, LoadSettings, PublishedCommand } from './command.ts';
export { publishLoad } from './command.ts';
export {
  BatchSizeError,
  isAway,
  MasterUnreachableError,
  NodegroupError,
  RefusedError,
  RequestTimeoutError,
} from './errors.ts';
export {
  CompoundCommandError,
  keywordIn,
  parseArguments,
  parseCompound,
  withoutJidNumber,
  yamlArgument,
} from './function-arguments.ts';
export { NO_MATCH, noResponseText } from './gather.ts';
export type { JobSearch } from './job-records.ts';
export { JobRecords, minionsOf, splitInput } from './job-records.ts';
export { LocalClient } from './local-client.ts';
export { colorsOf } from './output/colors.ts';
export type { DisplayOptions } from './output/display.ts';
export { displayOf, jointOf } from './output/display.ts';
export { pythonJson, strictJson } from './output/json.ts';
export type { OutputContext, Outputter } from './output/outputter.ts';
export { DEFAULT_STATE_DISPLAY, UnfitDataError } from './output/outputter.ts';
export type { ClientPorts } from './ports.ts';
export { subsetOf } from './subset.ts';
