import { FLAKY_MAX, type FlakyList, redBecauseOf } from './flaky-list.ts';
import { type Layer, layerOf, RUN_AGAIN } from './layers.ts';
import type { Failure, FileOutcome } from './outcome.ts';
import type { VitestEnd } from './vitest-run.ts';

/** A failed file, with its failures. */
export interface Failed {
  readonly file: string;
  readonly failures: readonly Failure[];
}

/** A file that failed among others and passed alone. */
export interface Flaky extends Failed {
  /** Duration of each run, in ms. */
  readonly tookMs: readonly [number, number];
}

/** The result of all runs of vitest. */
export interface Verdict {
  readonly passed: number;
  readonly skipped: number;
  readonly failed: readonly Failed[];
  readonly flaky: readonly Flaky[];
  /** Reasons why the run is red although no test failed. */
  readonly red: readonly string[];
}

/** The chosen files, and the end of each vitest. */
export interface Ran {
  readonly chosen: ReadonlyMap<Layer, readonly string[]>;
  readonly ends: readonly VitestEnd[];
  /** Reason for an early end of the run; undefined if it was not ended early. */
  readonly endedEarly: string | undefined;
}

/** All failures of a run: tests, files that did not load or end, errors outside of tests. */
export function failuresOf({ chosen, ends, endedEarly }: Ran): readonly Failed[] {
  const outcomes = ends.flatMap(({ files }) => files);
  const strays = ends.flatMap((end) => end.strays);
  const found: Failed[] = outcomes
    .filter(({ failures }) => failures.length > 0)
    .map(({ file, failures }) => ({ file, failures }));
  for (const { stray, file = '' } of strays)
    found.push({
      file,
      failures: [{ test: '', message: `outside of its tests: ${stray}`, at: '' }],
    });
  if (endedEarly !== undefined) {
    found.push({ file: '', failures: [{ test: '', message: endedEarly, at: '' }] });
    return found;
  }
  const seen = new Set(outcomes.map(({ file }) => file));
  const missing = [...chosen.values()].flat().filter((file) => !seen.has(file));
  for (const file of missing)
    found.push({ file, failures: [{ test: '', message: 'it did not end', at: '' }] });
  const odd = ends.find(({ code }) => code !== 0);
  if (found.length === 0 && odd !== undefined)
    found.push({
      file: '',
      failures: [{ test: '', message: `vitest ended with ${odd.code}`, at: '' }],
    });
  return found;
}

/** The files that run once more, alone: none if the run is red in any case. */
export function filesToRunAgain(failed: readonly Failed[]): readonly string[] {
  const files = [...new Set(failed.map(({ file }) => file))];
  const mayRun = files.every((file) => RUN_AGAIN.some((layer) => layer === layerOf(file)));
  return mayRun && files.length <= FLAKY_MAX ? files : [];
}

/** Joins the first run with the second runs of single files. */
export function verdictOf(
  ran: Ran,
  again: ReadonlyMap<string, Ran>,
  list: FlakyList,
  now: number,
): Verdict {
  const first = ran.ends.flatMap(({ files }) => files);
  const second = [...again.values()].flatMap(({ ends }) => ends.flatMap(({ files }) => files));
  const counted = [...first.filter(({ file }) => !again.has(file)), ...second];
  const failed: Failed[] = [];
  const flaky: Flaky[] = [];
  for (const one of failuresOf(ran)) {
    const other = again.get(one.file);
    if (other === undefined) failed.push(one);
    else if (failuresOf(other).length === 0) {
      flaky.push({ ...one, tookMs: [tookMs(first, one.file), tookMs(second, one.file)] });
    } else failed.push(...failuresOf(other));
  }
  const red = redBecauseOf([...new Set(flaky.map(({ file }) => file))], list, now);
  const sum = (key: 'passed' | 'skipped'): number =>
    counted.reduce((all, one) => all + one[key], 0);
  return { passed: sum('passed'), skipped: sum('skipped'), failed, flaky, red };
}

function tookMs(outcomes: readonly FileOutcome[], file: string): number {
  const found = outcomes.find((one) => one.file === file);
  return found === undefined ? 0 : found.end - found.begin;
}
