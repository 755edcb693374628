import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './repository.ts';

/** Written by `npm run test:flaky -- --note FILE` and `--mended FILE`, never by a run of tests. */
export const FLAKY_LIST = join(ROOT, 'test', 'layers', 'flaky.json');

/** Days that a file may be flaky before the run is red. */
const DAYS_MAX = 7;
/** Maximum of flaky files of one run: more can not be chance. */
export const FLAKY_MAX = 3;

const DAY_MS = 24 * 60 * 60 * 1000;

/** File → the day on which it was noted, as `2026-11-27`. */
export type FlakyList = Readonly<Record<string, string>>;

/** Reads the list. */
export function readFlakyList(path = FLAKY_LIST): FlakyList {
  return JSON.parse(readFileSync(path, 'utf8')) as FlakyList;
}

/** Writes it, sorted by file. */
export function writeFlakyList(list: FlakyList, path = FLAKY_LIST): void {
  const entries = Object.entries(list).sort(([one], [other]) => (one < other ? -1 : 1));
  writeFileSync(path, `${JSON.stringify(Object.fromEntries(entries), undefined, 2)}\n`);
}

/** Reasons why these flaky files make a run red; empty if they do not. */
export function redBecauseOf(
  files: readonly string[],
  list: FlakyList,
  now: number,
): readonly string[] {
  const old = files.filter((file) => {
    const noted = list[file];
    return noted !== undefined && now - Date.parse(noted) > DAYS_MAX * DAY_MS;
  });
  const words = old.map((file) => `${file} is known as flaky since ${list[file]}: mend it first`);
  if (files.length <= FLAKY_MAX) return words;
  return [...words, `${files.length} files are flaky, ${FLAKY_MAX} may be: that is no chance`];
}
