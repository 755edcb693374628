// The door: named exports only, types apart.
export type { Write } from './archive-writer.ts';
export { BackupError } from './backup-error.ts';
export { BackupKey } from './backup-key.ts';
export type { CheckedBackup } from './check-backup.ts';
export { checkBackup } from './check-backup.ts';
export type { FileRecord, FileRoot } from './file-records.ts';
export { filePart } from './file-records.ts';
export { makeBackup } from './make-backup.ts';
export type { Json, Manifest, StreamRecord } from './manifest.ts';
export type {
  BackupSource,
  BackupTarget,
  HostFile,
  StreamContent,
  TablesSource,
  TablesTarget,
} from './ports.ts';
export { putBack } from './put-back.ts';
export { steady } from './steady.ts';
