export type { CallOutcome } from './caller.ts';
export { Caller } from './caller.ts';
export { MasterSession } from './channel/session.ts';
export { MinionError } from './errors.ts';
export { ArgumentError, ExecutionError, InvocationError } from './functions/minion-function.ts';
export { collectGrains } from './grains/collect.ts';
export type { FinishedJob } from './jobs/job-worker.ts';
export { Minion } from './minion.ts';
export type { Clock, MasterKeyFile, MasterPort, Publications } from './ports.ts';
