export { AuditWriter, openAudit, strangerAllowance } from './audit-writer.ts';
export type { AesEpoch } from './epochs/aes-epochs.ts';
export { AesEpochs } from './epochs/aes-epochs.ts';
export { EpochAesKeys } from './epochs/aes-keys.ts';
export { JobCacheQueries } from './job-queries.ts';
export { forgetMinion } from './minions/forget-minion.ts';
export { BucketBanks } from './minions/minion-banks.ts';
export { BucketPillars } from './minions/pillar-bucket.ts';
export type { StoredBank, StoredBanks } from './minions/stored-banks.ts';
export { BANK_BUCKETS, bankRecordOf, openStoredBanks } from './minions/stored-banks.ts';
export { MovedState } from './moved-state.ts';
export { type HotState, openHotState } from './open-hot-state.ts';
export { BucketOnce } from './requests/once-bucket.ts';
export { type ClaimedAs, RequestIds, SAME_BYTES, serveRequestIds } from './requests/request-ids.ts';
export type { HeldRun } from './runs/held-run.ts';
export {
  type FoundRun,
  isPoison,
  offerRun,
  type OwnedRunOptions,
  OwnedRunStore,
} from './runs/owned-run-store.ts';
export { BusPages } from './streams/bus-pages.ts';
export { jobLookups } from './streams/job-lookups.ts';
export { StoredAcks, type StoredAckStats } from './streams/stored-acks.ts';
export { StreamEvents, StreamPublications } from './streams/streams.ts';
export { BucketTokens, sweepTokens } from './tokens.ts';
