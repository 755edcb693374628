export type { BankLayout } from './bank-files.ts';
export { BankFiles } from './bank-files.ts';
export { BatchFiles } from './batch-files.ts';
export { cleanOldJobs } from './clean-jobs.ts';
export {
  dropFilePath,
  DropFileWatch,
  readDropFile,
  removeDropFile,
  writeDropFile,
} from './drop-file.ts';
export type { InstalledSalt, SocketDialect } from './installed-salt.ts';
export { bankLayoutOf, dialectOf, findInstalledSalt } from './installed-salt.ts';
export { JobFiles } from './job-files.ts';
export { jobDir } from './job-paths.ts';
export type { PassedOver } from './stock/bounded.ts';
export { readStockJobs, type StockJob, type StockReturn } from './stock/jobs.ts';
export { readStockBanks, type StockBankRecord } from './stock/minion-data.ts';
export {
  keepStockTokens,
  readStockSessions,
  readStockTokens,
  type StockSession,
  type StockToken,
  writeStockSession,
  writeStockToken,
} from './stock/tokens.ts';
export { Uploads } from './uploads.ts';
export type { HostUser, UserKey } from './user-keys.ts';
export { ensureUserKey, lookupUser, readUserKey, readUserKeys } from './user-keys.ts';
