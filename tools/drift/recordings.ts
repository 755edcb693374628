import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../tests/repository.ts';

/** The table of all files of data below a folder named `fixtures`. */
export const TABLE = 'test/fixtures/recorded.json';

/** What the table says of a file that stock Salt was asked for. */
export interface Recording {
  /** The releases of Salt that gave these answers; cases may be of several. */
  readonly salt: readonly string[];
  /** The line of Python, where the answers are Python's own. */
  readonly python?: string;
  /**
   * A line for `sh` that records the file again. `{out}` is the file to write; `{release 3008}`,
   * `{python 3008}` and `{site 3008}` are the newest release of a line, its interpreter, and the
   * folder that has its package `salt`. Without `{out}` the line is for people.
   */
  readonly again?: string;
  /** Why nothing records the file again. */
  readonly once?: string;
}

/** What it says of a file that nobody was asked for. */
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
 * @throws Error where it names a line of releases that is not given
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
