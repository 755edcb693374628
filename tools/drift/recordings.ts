import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../tests/repository.ts';

/** The table of all files of data below a folder named `fixtures`. */
export const TABLE = 'test/fixtures/recorded.json';

/** Entry of a file recorded from stock Salt. */
export interface Recording {
  /** The releases of Salt that gave these answers; cases may differ in their release. */
  readonly salt: readonly string[];
  /** The line of Python, for answers of Python itself. */
  readonly python?: string;
  /**
   * A line for `sh` that records the file again. `{out}` is the file to write; `{release 3008}`,
   * `{python 3008}` and `{site 3008}` are the newest release of a line, its interpreter, and the
   * folder that has its package `salt`. Without `{out}` the line is only for people.
   */
  readonly again?: string;
  /** The reason why nothing records the file again. */
  readonly once?: string;
}

/** Entry of a file that was not recorded from a program. */
export interface Made {
  readonly made: string;
}

/** The table by the paths of files from the root of the repository. */
export type Table = Readonly<Record<string, Recording | Made>>;

/** Reads the table. */
export function readTable(): Table {
  return JSON.parse(readFileSync(join(ROOT, TABLE), 'utf8')) as Table;
}

/** Narrows an entry of the table. */
export function isRecording(entry: Recording | Made): entry is Recording {
  return 'salt' in entry;
}

/** The line of a release: `3008` of `3008.5`. */
export function lineOf(release: string): string {
  return release.split('.', 1)[0] ?? release;
}

const PLACE = /\{(release|python|site) (\d{4})\}/g;

/** The lines of releases that a recorder asks. */
export function linesAsked(again: string): ReadonlySet<string> {
  return new Set([...again.matchAll(PLACE)].map(([, , line = '']) => line));
}

/** Where an installed release is. */
export interface Installed {
  readonly release: string;
  readonly python: string;
  readonly site: string;
}

/**
 * The line for `sh` with its places filled in.
 * @throws Error if it names a line of releases that is not given
 */
export function filledIn(
  again: string,
  installed: ReadonlyMap<string, Installed>,
  out: string,
): string {
  const filled = again.replaceAll(PLACE, (_all, kind: keyof Installed, line: string) => {
    const one = installed.get(line);
    if (one === undefined) throw new Error(`no release of Salt ${line} for: ${again}`);
    return one[kind];
  });
  return filled.replaceAll('{out}', out);
}
