export { isOutage, untilStored, runOnce } from './once/run-once.ts';
export type { StoredRun } from './ownership/held-run.ts';
export type { FoundRun, OwnedRunOptions } from './ownership/owned-run-store.ts';
export { isPoison, offerRun, OwnedRunStore } from './ownership/owned-run-store.ts';
export type { QueuedWork, WorkEnd } from './queue/queue-work.ts';
export { QueueWork } from './queue/queue-work.ts';
export type { ClusterTask } from './tasks/endless-runs.ts';
export { ClusterTasks } from './tasks/endless-runs.ts';
