export { AuditWriter } from './audit-writer.ts';
export type { AesEpoch } from './epochs/aes-epochs.ts';
export { AesEpochs } from './epochs/aes-epochs.ts';
export { EpochAesKeys } from './epochs/aes-keys.ts';
export { unlessConflict } from './hot-state.ts';
export { forgetMinion } from './minions/forget-minion.ts';
export { BucketMines } from './minions/mines.ts';
export { BucketMinionData } from './minions/minion-data.ts';
export { BucketMinionKeys } from './minions/minion-keys.ts';
export { KeptPillars } from './minions/pillar-cache.ts';
export { BucketSessionKeys } from './minions/session-keys.ts';
export { BucketSyndics } from './minions/syndics.ts';
export { BucketOnce } from './requests/once.ts';
export {
  claimRequestId,
  REQUEST_MEMORY_MS,
  REQUEST_UNHEARD_MS,
  requestAnswered,
  serveRequestIds,
} from './requests/request-ids.ts';
export { BucketTokens } from './tokens.ts';
export { BucketUserKeys } from './user-keys.ts';
