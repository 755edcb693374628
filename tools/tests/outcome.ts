import { readFileSync } from 'node:fs';

/** A test that failed, or the file itself where none of its tests did. */
export interface Failure {
  /** The whole name of the test; empty for the file itself. */
  readonly test: string;
  /** The first error, with the difference that vitest found. */
  readonly message: string;
  /** Where it was thrown: the first place in the repository. */
  readonly at: string;
}

/** What came of one test file. */
export interface FileOutcome {
  /** From the root. */
  readonly file: string;
  readonly layer: string;
  /** When it began and ended, in ms since 1970. */
  readonly begin: number;
  readonly end: number;
  /** CPU of its process and of those that it waited for, in ms. */
  readonly cpuMs: number;
  readonly passed: number;
  readonly skipped: number;
  readonly failures: readonly Failure[];
}

/** An error outside of all tests; the file that ran in that process, where it is known. */
export interface StrayError {
  readonly stray: string;
  readonly file: string | undefined;
}

/** What one run of vitest came to. */
export interface Outcome {
  readonly files: readonly FileOutcome[];
  readonly strays: readonly StrayError[];
}

/** Reads what the reporter wrote so far: a line for each file, as it ended. */
export function readOutcome(path: string): Outcome {
  let text = '';
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    // vitest ended before its first file did. Its exit code is not 0 then.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  const lines = text.split('\n').filter((line) => line !== '');
  const all = lines.map((line) => JSON.parse(line) as FileOutcome | StrayError);
  const files = all.filter((one): one is FileOutcome => !('stray' in one));
  return { files, strays: all.filter((one): one is StrayError => 'stray' in one) };
}
