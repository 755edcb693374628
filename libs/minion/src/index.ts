export { asctime } from './asctime.ts';
export { MasterSession } from './channel/session.ts';
export { MinionError } from './errors.ts';
export { collectGrains } from './grains/collect.ts';
export type { FinishedJob } from './jobs/job-worker.ts';
export { Minion } from './minion.ts';
export type { Clock, MasterKeyFile, MasterPort, Publications } from './ports.ts';
