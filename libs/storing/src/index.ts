export { OutageRetry } from './outage-retry.ts';
export { retryQuarantined } from './quarantine-retry.ts';
export type { RefusedKind, StoreContext, StoreCounts } from './store-context.ts';
export { keepStray } from './store-context.ts';
export { takeJobs } from './take-jobs.ts';
export { takeReturns } from './take-returns.ts';
