export { asctime } from './asctime.ts';
export { MasterSession } from './channel/session.ts';
export { MinionError } from './errors.ts';
export { collectGrains } from './grains/collect.ts';
export { Minion } from './minion.ts';

export type { Listener, SessionParts, SessionSettings } from './channel/session.ts';
export type { MinionErrorCode } from './errors.ts';
export type { GrainSettings } from './grains/collect.ts';
export type { FinishedJob } from './jobs/job-worker.ts';
export type { MinionParts } from './minion.ts';
export type {
  Clock,
  MasterKeyFile,
  MasterPort,
  MasterRequests,
  MinionLog,
  Publications,
  RequestLimits,
} from './ports.ts';
export type { MinionSettings } from './settings.ts';
