import { availableParallelism } from 'node:os';
import { markdownTable } from 'markdown-table';
import { layerOf, LAYERS } from './layers.ts';
import type { Failure, FileOutcome } from './outcome.ts';
import type { Failed, Flaky, Verdict } from './verdict.ts';

const SLOWEST_SHOWN = 10;
/** Lines of a terminal that failures may take, and columns of one. */
const SCREEN_LINES = 40;
const LINE_CHARS = 160;
/** Lines of one failure beside its message: name, place, command. */
const FRAME_LINES = 3;
const MESSAGE_LINES_MIN = 2;
/** Lines of a flaky test's first failure, which is only a hint. */
const FLAKY_LINES = 6;

/** The slowest files, and a table of the layers. */
export function costsOf(files: readonly FileOutcome[], wallMs: number): string {
  const slowest = [...files].sort((one, other) => lengthOf(other) - lengthOf(one));
  const lines = slowest
    .slice(0, SLOWEST_SHOWN)
    .map((one) => `${seconds(lengthOf(one))} s, ${seconds(one.cpuMs)} s of CPU  ${one.file}`);
  const rows = LAYERS.map((layer) =>
    rowOf(
      layer,
      files.filter((one) => one.layer === layer),
    ),
  );
  const table = markdownTable(
    [
      ['layer', 'files', 'tests', 'wall s', 'CPU s', 'share'],
      ...rows.filter((row) => row !== undefined),
      rowOf('all', files, wallMs) ?? [],
    ],
    { align: ['l', 'r', 'r', 'r', 'r', 'r'] },
  );
  return `The slowest files:\n${lines.join('\n')}\n\n${table}`;
}

/** From the first begin to the last end of a layer; the share is of all cores in that time. */
function rowOf(
  name: string,
  files: readonly FileOutcome[],
  wallMs = Math.max(...files.map(({ end }) => end)) - Math.min(...files.map(({ begin }) => begin)),
): readonly string[] | undefined {
  if (files.length === 0) return undefined;
  const cpuMs = files.reduce((sum, one) => sum + one.cpuMs, 0);
  const tests = files.reduce((sum, { passed, failures }) => sum + passed + failures.length, 0);
  const share = (100 * cpuMs) / (availableParallelism() * Math.max(wallMs, 1));
  const counts = [files.length, tests].map(String);
  return [name, ...counts, seconds(wallMs), seconds(cpuMs), `${share.toFixed(0)} %`];
}

/** Failures for a screen: file, test, expected and actual value, command to run it alone. */
export function failuresFor(failed: readonly Failed[], dir: string): string {
  const all = failed.flatMap(({ file, failures }) => failures.map((one) => ({ file, ...one })));
  const lines = Math.floor(SCREEN_LINES / Math.max(all.length, 1)) - FRAME_LINES;
  const shown = all.slice(0, Math.floor(SCREEN_LINES / (FRAME_LINES + MESSAGE_LINES_MIN)));
  const blocks = shown.map((one) => blockOf(one, Math.max(lines, MESSAGE_LINES_MIN)));
  if (shown.length < all.length) blocks.push(`and ${all.length - shown.length} more failures`);
  blocks.push(`Whole messages, and reports on masters: ${dir}`);
  return blocks.join('\n');
}

/** Tests that passed when their file ran alone, each with its first failure. */
export function flakyFor(flaky: readonly Flaky[]): string {
  const blocks = flaky.flatMap(({ file, failures, tookMs: [first, second] }) =>
    failures.map((one) => {
      const outcome = `failed after ${seconds(first)} s, passed alone in ${seconds(second)} s`;
      return [`FLAKY ${nameOf({ file, ...one })}: ${outcome}`, ...messageOf(one, FLAKY_LINES)];
    }),
  );
  return blocks.flat().join('\n');
}

/** Everything that failed, without a limit: for a file. */
export function wholeFailures(failed: readonly Failed[]): string {
  return failed
    .flatMap(({ file, failures }) => failures.map((one) => ({ file, ...one })))
    .map((one) => `${nameOf(one)}\n${one.message}\n${one.at}\n`)
    .join('\n');
}

/** The closing line, as CI reads it. */
export function countsOf({ passed, failed, skipped, red }: Verdict): string {
  const count = failed.reduce((sum, { failures }) => sum + failures.length, 0) + red.length;
  return `${passed} passed, ${count} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}

function blockOf(one: Failure & { readonly file: string }, lines: number): string {
  const isFile = layerOf(one.file) !== undefined;
  return [
    `FAILED ${nameOf(one)}`,
    ...messageOf(one, lines),
    ...(isFile
      ? [`  again: npm test -- --only ${one.file}${one.at === '' ? '' : `  (${one.at})`}`]
      : []),
  ].join('\n');
}

function nameOf({ file, test }: { readonly file: string; readonly test: string }): string {
  return [file, test].filter((part) => part !== '').join(' > ') || 'the run';
}

/** For errors of `until` both halves, each on a line; for others the first lines. */
function messageOf({ message }: Failure, lines: number): readonly string[] {
  const [, within, awaited, seen] = /^waited (\d+) ms for this: (.*?); ([^]*)$/.exec(message) ?? [];
  const text =
    within === undefined
      ? message.split('\n')
      : [`awaited for ${within} ms: ${awaited}`, ...(seen ?? '').split('\n')];
  const some = text.filter((line) => line.trim() !== '').slice(0, lines);
  return some.map((line) => `  ${line}`.slice(0, LINE_CHARS));
}

function lengthOf({ begin, end }: FileOutcome): number {
  return end - begin;
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(ms < 10_000 ? 1 : 0);
}
