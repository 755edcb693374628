/** The exit codes of Salt's commands (Salt: salt/defaults/exitcodes.py). */
export const EXIT = {
  ok: 0,
  generic: 1,
  /** Nothing returned, or the login failed. */
  noReturn: 2,
  /** A command line that is not complete (Salt: salt/utils/parsers.py). */
  incomplete: 42,
  usage: 64,
} as const;

/** Ends a command: thrown where Salt calls sys.exit. */
export class Exit extends Error {
  readonly code: number;
  /** For stderr, as it is. */
  readonly text: string;

  constructor(code: number, text = '') {
    super(`exit ${code}`);
    this.name = 'Exit';
    this.code = code;
    this.text = text;
  }
}
