import type { MasterOptions } from '@brine/config';
import type { CommandForm } from './options/command-form.ts';
import { logLine, type Terminal } from './terminal.ts';

/** All exit codes (docs/exit-codes.md). Salt's own are in salt/defaults/exitcodes.py. */
export const EXIT = {
  ok: 0,
  generic: 1,
  /** Nothing returned: no minion matched, the login failed, or no master took the command. */
  noReturn: 2,
  /** Another master has the ports of this host (Salt: salt/cli/daemons.py). */
  portsTaken: 4,
  /** A command line that is not complete (Salt: salt/utils/parsers.py). */
  incomplete: 42,
  usage: 64,
  /** `salt-call` of a function that the minion does not have: Python's exit(-1). */
  notAvailable: 255,
  /** A second signal ended the master before its ordered stop was done (128 + SIGINT). */
  forced: 130,
} as const;

/** The code by `brine.exit_codes` for cases where Salt exits with 0 although nothing was done. */
export function codeFor(
  { brine }: Pick<MasterOptions, 'brine'>,
  codes: { readonly strict: number; readonly stock: number },
): number {
  return codes[brine.exitCodes];
}

/** Ends a command, where Salt calls sys.exit. */
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

/** A page for stdout instead of a run. */
export class HelpExit extends Exit {
  readonly page: string;
  /** The form of a help page, from which manual pages are made too. */
  readonly form: CommandForm | undefined;

  constructor(page: string, form?: CommandForm) {
    super(EXIT.ok);
    this.page = page;
    this.form = form;
  }
}

/** Prints an error as Salt does for uncaught ones, and returns the exit. */
export function unhandled(terminal: Terminal, text: string): Exit {
  logLine(
    terminal,
    'ERROR',
    `An un-handled exception was caught by Salt's global exception handler:`,
  );
  terminal.err(`${text}\n`);
  return new Exit(EXIT.generic);
}
