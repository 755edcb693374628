import { readFileSync } from 'node:fs';

/** A failed test, or the file itself if none of its tests failed. */
export interface Failure {
  /** The whole name of the test; empty for the file itself. */
  readonly test: string;
  /** The first error, with the difference that vitest found. */
  readonly message: string;
  /** The first place of its stack in the repository. */
  readonly at: string;
}

/** The outcome of one test file. */
export interface FileOutcome {
  /** Path from the root. */
  readonly file: string;
  readonly layer: string;
  /** Begin and end, in ms since 1970. */
  readonly begin: number;
  readonly end: number;
  /** CPU of its process and of awaited children, in ms. */
  readonly cpuMs: number;
  readonly passed: number;
  readonly skipped: number;
  readonly failures: readonly Failure[];
}

/** An error outside of all tests; `file` is the file of that process, if known. */
export interface StrayError {
  readonly stray: string;
  readonly file: string | undefined;
}

/** The outcome of one run of vitest. */
export interface Outcome {
  readonly files: readonly FileOutcome[];
  readonly strays: readonly StrayError[];
}

/** Reads the reporter's output so far: a line for each ended file. */
export function readOutcome(path: string): Outcome {
  let text = '';
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    // vitest ended before its first file, with an exit code other than 0.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  const lines = text.split('\n').filter((line) => line !== '');
  const all = lines.map((line) => JSON.parse(line) as FileOutcome | StrayError);
  const files = all.filter((one): one is FileOutcome => !('stray' in one));
  return { files, strays: all.filter((one): one is StrayError => 'stray' in one) };
}
