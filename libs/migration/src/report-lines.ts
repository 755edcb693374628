import { plainText } from '@brine/wire/text';
import type { KeyReport } from './edge/key-files.ts';
import type { OptionReport } from './option-report.ts';
import { type Kind, KINDS, type Tally } from './tally.ts';

/** Width of lines with names of options. */
const LINE_WIDTH = 96;

/** The report on options, as lines. */
export function optionLines(report: OptionReport, more: readonly string[] = []): string {
  const { honoured, different, breaks } = report;
  return [
    `honoured: ${honoured.length}`,
    ...wrapped(honoured),
    `different: ${different.length + more.length}`,
    ...[...different, ...more].map((text) => `  ${text}`),
    `breaks: ${breaks.length}`,
    ...breaks.map((text) => `  ${text}`),
    '',
  ].join('\n');
}

function wrapped(names: readonly string[]): string[] {
  const lines: string[] = [];
  for (const name of names) {
    const last = lines.at(-1);
    if (last === undefined || last.length + name.length + 2 > LINE_WIDTH) lines.push(`  ${name}`);
    else lines[lines.length - 1] = `${last}, ${name}`;
  }
  return lines;
}

/** The result for keys, as lines. */
export function keyLines(report: KeyReport, isDry: boolean): string {
  const { accepted, pending, rejected, denied, autosign } = report.counts;
  const all = `${accepted} accepted, ${pending} pending, ${rejected} rejected, ${denied} denied`;
  const stubs = autosign > 0 ? `, ${autosign} autosign` : '';
  const would = isDry ? 'to add' : 'added';
  const gone = report.removed > 0 ? `, ${report.removed} ${isDry ? 'to remove' : 'removed'}` : '';
  const what = report.isShared ? 'same directory' : `${report.added} ${would}${gone}`;
  return [
    `keys: ${all}${stubs}; ${what}`,
    ...(report.differ.length === 0
      ? []
      : [
          `  left as they are here, since they differ: ${some(report.differ)}`,
          '  look at both with brine key -f ID and salt-key -f ID, then decide with brine key',
        ]),
    '',
  ].join('\n');
}

/** The result for everything else, as lines. */
export function tallyLines(tally: Tally, isDry: boolean): string {
  const rows = KINDS.map((kind) => row(kind, tally, isDry));
  return [...rows, ...tally.notes(plainText).map((note) => `  not moved: ${note}`), ''].join('\n');
}

function row(kind: Kind, tally: Tally, isDry: boolean): string {
  const { moved, known, left } = tally.count(kind);
  if (isDry) return `${kind}: ${moved + known} found`;
  const rest = [
    ...(known > 0 ? [`${known} there already`] : []),
    ...(left > 0 ? [`${left} not moved`] : []),
  ];
  return `${kind}: ${[`${moved} moved`, ...rest].join(', ')}`;
}

const NAMED_MAX = 10;

function some(names: readonly string[]): string {
  const more = names.length - NAMED_MAX;
  const shown = names.slice(0, NAMED_MAX).map(plainText).join(', ');
  return `${shown}${more > 0 ? ` and ${more} more` : ''}`;
}
