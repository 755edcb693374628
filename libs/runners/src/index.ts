export {
  bindArguments,
  InvalidArgumentsError,
  splitKeywords,
  UnknownKeywordError,
} from './arguments.ts';
export type { MasterContext } from './call.ts';
export {
  callFunction,
  invalidArgumentsText,
  isKnown,
  outcomeOf,
  runFunction,
  runnerNamed,
} from './call.ts';
export type {
  BoundArguments,
  CallIdentity,
  GivenArguments,
  RowSeal,
  RunnerContext,
  RunnerFunction,
  RunnerMaster,
  Shown,
  WheelFunction,
} from './function.ts';
export { timeOf, UNKNOWN_JOB } from './jobs/jobs.ts';
export { RUNNERS, WHEELS } from './table.ts';
export type { OwnedKind, OwnedRun, OwnedRunRecord, OwnedRuns } from './owned-run.ts';
export { RunLostError } from './owned-run.ts';
