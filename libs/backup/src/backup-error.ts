/** A backup can not be made or restored. The message is one line and names the remedy. */
export class BackupError extends Error {
  override readonly name = 'BackupError';
}
