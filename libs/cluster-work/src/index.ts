export { isOutage, keepTelling, runOnce } from './once/run-once.ts';
export type { HeldRun } from './ownership/held-run.ts';
export type { FoundRun, OwnedRunOptions } from './ownership/owned-run-store.ts';
export { isPoison, offerRun, OwnedRunStore } from './ownership/owned-run-store.ts';
export type { QueuedWork, WorkEnd } from './queue/queue-work.ts';
export { QueueWork } from './queue/queue-work.ts';
export type { EndlessWork } from './tasks/endless-runs.ts';
export { EndlessRuns } from './tasks/endless-runs.ts';
