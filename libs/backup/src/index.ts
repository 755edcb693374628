// The door: named exports only, types apart.
export { checkBackup } from './check-backup.ts';
export { readArchive } from './edge/archive-file.ts';
export { hostOptions, isConfigEntry, restoredConfig, RestoreFiles } from './edge/restore-files.ts';
export { RestoreTarget } from './edge/restore-target.ts';
export { putBack } from './put-back.ts';
export { restoreBackup } from './restore-backup.ts';
export { writeBackup } from './write-backup.ts';
