import { EXIT, Exit } from '../exit-codes.ts';

/** Ends `brine migrate` with one line that says what to do; nothing is half done then. */
export function refused(text: string, code: number = EXIT.generic): Exit {
  return new Exit(code, `brine migrate: ${text}\n`);
}
