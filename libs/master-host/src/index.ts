export type { Output } from './output.ts';
export { RefusedError } from './refused-error.ts';
export { ownNatsUrl, ownPostgresUrl, runningMaster, supervisorState } from './state-dir.ts';
