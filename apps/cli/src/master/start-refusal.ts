/** A master refuses to start: a line for the operator and the exit code. */
export class StartRefusal extends Error {
  override readonly name = 'StartRefusal';
  readonly exitCode: number;

  constructor(exitCode: number, text: string, options?: ErrorOptions) {
    super(text, options);
    this.exitCode = exitCode;
  }
}

/** The errno of a failed call of the file system, which Salt uses as exit code. */
export function errnoOf(error: unknown): number {
  const { errno } = error as { errno?: unknown };
  return typeof errno === 'number' && errno !== 0 ? Math.abs(errno) : 1;
}

/** The text of a failed call of the file system, without its path: `No such file or directory`. */
export function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  const words = /^\w+: ([^,]+)/.exec(message)?.[1];
  return words === undefined ? message : `${words}${code === undefined ? '' : ` (${code})`}`;
}

/** Salt's text for a log file that can not be opened (salt/utils/verify.py verify_files). */
export function noAccess(path: string): string {
  return `No permissions to access "${path}", are you running as the correct user?`;
}
