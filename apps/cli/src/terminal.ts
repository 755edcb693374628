import { createInterface, type Interface } from 'node:readline';
import { Writable } from 'node:stream';
import { text as readAll } from 'node:stream/consumers';
import type { Output } from '@brine/master-host';

/** The input and output of a command. */
export interface Terminal extends Output {
  /** True if stdout is a terminal: then colours are on. */
  readonly isTerminal: boolean;
  /** False if a waiting command must leave Ctrl-C to its caller. */
  readonly ownsSignals: boolean;
  /** Prints a question and reads a line; undefined at the end of input. */
  ask(question: string, where: 'out' | 'err'): Promise<string | undefined>;
  /** Resolves when the reader has read everything, or is gone. */
  flush?(): Promise<void>;
  /** As `ask` on stderr, without showing the input. */
  askSecret(question: string): Promise<string | undefined>;
  /** All of stdin. */
  readInput(): Promise<string>;
}

/** The terminal of this process. A reader that closes ends the output, not the command. */
export class ProcessTerminal implements Terminal {
  readonly isTerminal = process.stdout.isTTY;
  readonly ownsSignals = true;
  #lines: Interface | undefined;
  #waiting: AsyncIterator<string> | undefined;
  #hasStatus = false;

  constructor() {
    for (const stream of [process.stdout, process.stderr]) {
      stream.on('error', (error: NodeJS.ErrnoException) => {
        // EIO: the terminal is gone, as after SIGHUP.
        if (error.code !== 'EPIPE' && error.code !== 'EIO') throw error;
      });
    }
  }

  readonly out = (text: string): void => {
    this.#clearStatus();
    process.stdout.write(text);
  };

  readonly err = (text: string): void => {
    this.#clearStatus();
    process.stderr.write(text);
  };

  readonly status = canRewrite() ? (text: string): void => this.#setStatus(text) : undefined;

  #setStatus(text: string): void {
    this.#clearStatus();
    if (text === '') return;
    // A line that wraps could not be removed again.
    process.stderr.write(text.slice(0, Math.max(0, process.stderr.columns - 1)));
    this.#hasStatus = true;
  }

  #clearStatus(): void {
    if (this.#hasStatus) process.stderr.write(ERASE_LINE);
    this.#hasStatus = false;
  }

  async flush(): Promise<void> {
    await Promise.all([drained(process.stdout), drained(process.stderr)]);
  }

  async ask(question: string, where: 'out' | 'err'): Promise<string | undefined> {
    this[where](question);
    this.#lines ??= createInterface({ input: process.stdin, terminal: false });
    this.#waiting ??= this.#lines[Symbol.asyncIterator]();
    const line = await this.#waiting.next();
    return line.done === true ? undefined : line.value;
  }

  async askSecret(question: string): Promise<string | undefined> {
    if (!process.stdin.isTTY || this.#lines !== undefined) return this.ask(question, 'err');
    this.err(question);
    // The line editor echoes to its output: give it one that shows nothing.
    const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
    const lines = createInterface({ input: process.stdin, output: nowhere, terminal: true });
    try {
      return await new Promise((resolve) => {
        lines.once('line', resolve);
        lines.once('close', () => resolve(undefined));
        lines.once('SIGINT', () => process.kill(process.pid, 'SIGINT'));
      });
    } finally {
      lines.close();
      this.err('\n');
    }
  }

  readInput(): Promise<string> {
    return readAll(process.stdin);
  }
}

/** Moves to the first column, and erases the line. */
const ERASE_LINE = '\r\x1b[K';

function canRewrite(): boolean {
  const { TERM: term = '' } = process.env;
  return process.stdout.isTTY && process.stderr.isTTY && term !== '' && term !== 'dumb';
}

function drained(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    if (stream.writableLength === 0 || stream.destroyed) return resolve();
    stream.once('close', resolve);
    // An empty write completes after all earlier writes.
    stream.write('', () => resolve());
  });
}

/** Writes a line as Salt logs it on the terminal: the level in eight columns. */
export function logLine(
  terminal: Terminal,
  level: 'CRITICAL' | 'ERROR' | 'WARNING',
  text: string,
): void {
  terminal.err(`[${level.padEnd(8)}] ${text}\n`);
}

/** Warns of given options that have no effect. */
export function warnIneffective(
  terminal: Terminal,
  { ineffective }: { readonly ineffective: readonly string[] },
): void {
  for (const line of ineffective) logLine(terminal, 'WARNING', line);
}
