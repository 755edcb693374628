export type { Output } from './output.ts';
export { RefusedError } from './refused-error.ts';
export { runningMaster, supervisorState } from './state-dir.ts';
