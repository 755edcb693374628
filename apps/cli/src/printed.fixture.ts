import { runCommandLine } from './command-line.ts';
import type { Terminal } from './terminal.ts';

/** What a command printed, and its exit code. */
export interface Printed {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/**
 * Runs a program with these words, in this process. Its questions are printed and get `answer`;
 * without one there is no terminal that could answer.
 */
export async function printedBy(
  words: readonly string[],
  { program = 'brine', answer }: { readonly program?: string; readonly answer?: string } = {},
): Promise<Printed> {
  const printed = { out: '', err: '' };
  const terminal: Terminal = {
    out: (text) => void (printed.out += text),
    err: (text) => void (printed.err += text),
    isTerminal: false,
    ownsSignals: false,
    ask: (question) => {
      if (answer !== undefined) printed.out += question;
      return Promise.resolve(answer);
    },
    askSecret: () => Promise.resolve(undefined),
    readInput: () => Promise.resolve(''),
  };
  const code = await runCommandLine(program, words, terminal);
  return { code, ...printed };
}
