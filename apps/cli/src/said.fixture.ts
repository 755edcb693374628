import { chmodSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { runCommandLine } from './command-line.ts';
import type { Terminal } from './terminal.ts';

/** An account that owns nothing of the system. */
export const NOBODY = 65_534;
/** Only root can make directories of others, and works in them as their owner. */
export const isRoot = process.getuid?.() === 0;

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

/** Lets other users pass through a directory of a test and those above it that are closed. */
export function letPass(dir: string): void {
  for (let at = dir; at !== dirname(at); at = dirname(at)) {
    const { mode } = statSync(at);
    if ((mode & 0o001) === 0) chmodSync(at, (mode & 0o7777) | 0o011);
  }
}
