export { cleanOldJobs } from './clean-jobs.ts';
export {
  DropFileWatch,
  dropFilePath,
  readDropFile,
  removeDropFile,
  writeDropFile,
} from './drop-file.ts';
export { CachedirError } from './errors.ts';
export { JobFiles } from './job-files.ts';
export { jobDir, jobsRoot, returnDir } from './job-paths.ts';
export { ReceivedFiles } from './received-files.ts';
export { ensureUserKey, lookupUser, readUserKey, userKeyPath } from './user-keys.ts';

export type { DropFile } from './drop-file.ts';
export type { CachedirErrorCode } from './errors.ts';
export type { JobToWrite, StoredReturn } from './job-files.ts';
export type { JobFilesOptions } from './job-paths.ts';
export type { Owner } from './files.ts';
export type { ReceivedPiece } from './received-files.ts';
export type { UserKey } from './user-keys.ts';
