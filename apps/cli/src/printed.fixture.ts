import { runCommandLine } from './command-line.ts';
import type { Terminal } from './terminal.ts';

/** What a command printed, and its exit code. */
export interface Said {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs `brine` with these words, in this process, where nobody answers questions. */
export async function saidBy(words: readonly string[]): Promise<Said> {
  const said = { out: '', err: '' };
  const terminal: Terminal = {
    out: (text) => void (said.out += text),
    err: (text) => void (said.err += text),
    isTerminal: false,
    ownsSignals: false,
    ask: () => Promise.resolve(undefined),
    askSecret: () => Promise.resolve(undefined),
    readInput: () => Promise.resolve(''),
  };
  const code = await runCommandLine('brine', words, terminal);
  return { code, ...said };
}
