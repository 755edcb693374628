import { EXIT, Exit } from './exit-codes.ts';

/** The remedy for a file that this process may not open. */
export function deniedAdvice(): string {
  return process.getuid?.() === 0
    ? 'root works in a directory of another user as that user: give the file to it (chown)'
    : "run this as root, or as the master's user";
}

/** Remedies for errors of the file system. */
const ADVICE: Readonly<Record<string, string>> = {
  EACCES: deniedAdvice(),
  EPERM: deniedAdvice(),
  ENOENT: 'check the path',
  ENOSPC: 'make room, then do it again',
  EDQUOT: 'make room, then do it again',
  EROFS: 'the file system is read-only',
};

/** Errors whose text names the remedy, with the prefix for it. */
const SPOKEN: Readonly<Record<string, string>> = {
  RefusedError: '',
  OthersPathError: '',
  PkiError: '',
  BusError: 'NATS: ',
  MasterUnavailableError: 'NATS: ',
  JobCacheError: 'PostgreSQL: ',
  ExchangeError: 'the job cache: ',
};

/**
 * Turns an external error into one line with a remedy. Bugs of this program are returned unchanged,
 * unless the operator must know more. Errors are recognized by name, because importing their
 * classes would load several libraries.
 * @param file the backup that the command uses
 */
export function inWords(command: string, error: unknown, file = ''): unknown {
  const more = error instanceof Error && error.name === 'StoppedError' ? error.message : '';
  const cause = more === '' ? error : (error as Error).cause;
  if (cause instanceof Exit) return cause;
  const line = lineOf(cause, file) ?? (more === '' ? undefined : String(cause));
  if (line === undefined) return error;
  const isTaken = cause instanceof Error && 'code' in cause && TAKEN.has(String(cause.code));
  return new Exit(isTaken ? EXIT.portsTaken : EXIT.generic, `brine ${command}: ${line}${more}\n`);
}

/** Another process has the ports, the state directory or a socket. */
const TAKEN: ReadonlySet<string> = new Set(['SALT_MASTER_TAKEN', 'PORTS_TAKEN']);

function lineOf(error: unknown, file: string): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { name, message } = error;
  if (name === 'BackupError') return `${file}: ${message}`;
  if ('lines' in error && Array.isArray(error.lines)) return error.lines.join('; ');
  if (Object.hasOwn(SPOKEN, name)) return `${SPOKEN[name]}${message}`;
  const advice = 'code' in error ? ADVICE[String(error.code)] : undefined;
  return advice === undefined ? undefined : `${message}: ${advice}`;
}
