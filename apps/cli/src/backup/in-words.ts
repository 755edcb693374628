import { BackupError } from '@brine/backup';
import { BusError } from '@brine/bus';
import { OthersPathError } from '@brine/files';
import { JobCacheError } from '@brine/job-cache';
import { HostTakenError } from '@brine/service/processes';
import { deniedAdvice } from '../denied.ts';
import { EXIT, Exit } from '../exit-codes.ts';

/** The commands of this folder. */
export type BackupCommand = 'backup' | 'restore';

/** Ends the command with one line that says what to do. */
export function refused(command: BackupCommand, text: string, code: number = EXIT.generic): Exit {
  return new Exit(code, `brine ${command}: ${text}\n`);
}

/** What to do about errors of the file system. */
const ADVICE: Readonly<Record<string, string>> = {
  EACCES: deniedAdvice(),
  EPERM: deniedAdvice(),
  ENOENT: 'check the path',
  ENOSPC: 'make room, then do it again',
  EDQUOT: 'make room, then do it again',
  EROFS: 'the file system is read-only',
};

/** An error of the world outside as one line; a fault of this program stays what it is. */
export function inWords(command: BackupCommand, file: string, error: unknown): unknown {
  if (error instanceof BackupError) return refused(command, `${file}: ${error.message}`);
  if (error instanceof OthersPathError) return refused(command, error.message);
  if (error instanceof HostTakenError) {
    return refused(command, error.lines.join('; '), EXIT.portsTaken);
  }
  if (error instanceof BusError) return refused(command, `NATS: ${error.message}`);
  if (error instanceof JobCacheError) return refused(command, `PostgreSQL: ${error.message}`);
  const advice = error instanceof Error && 'code' in error ? ADVICE[String(error.code)] : undefined;
  if (advice !== undefined) return refused(command, `${(error as Error).message}: ${advice}`);
  return error;
}
