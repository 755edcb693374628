export { AesEpochs } from './aes-epochs.ts';
export type { AesEpoch } from './aes-epochs.ts';
export { AuditWriter } from './audit-writer.ts';
export { forgetMinion } from './forget-minion.ts';
export {
  REQUEST_MEMORY_MS,
  REQUEST_UNHEARD_MS,
  claimRequestId,
  requestAnswered,
  serveRequestIds,
} from './request-ids.ts';
