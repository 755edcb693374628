export type { BankLayout, MinionBank } from './bank-files.ts';
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
export { JobFiles } from './job-files.ts';
export { jobDir } from './job-paths.ts';
export { Uploads } from './uploads.ts';
export type { UserKey } from './user-keys.ts';
export { ensureUserKey, readUserKey } from './user-keys.ts';
