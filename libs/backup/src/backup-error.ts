/** Why a backup can not be made or put back: one line that says what to do. */
export class BackupError extends Error {
  override readonly name = 'BackupError';
}
