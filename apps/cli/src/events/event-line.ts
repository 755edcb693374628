import { colorsOf, pythonJson } from '@brine/client';
import { parseTag } from '@brine/job';
import type { PagedEvent } from '@brine/master';
import { printable } from '@brine/runners/command';
import { intOf, isMap, listOf, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { eventStamp } from '@brine/wire/frames';
import { pyStr, visible } from '@brine/wire/text';

/** The style of lines. */
export interface LineStyle {
  readonly color: boolean;
  /** Also all data of each event, below its line. */
  readonly data: boolean;
}

/** Maximum length of the summary of an event. */
const SUMMARY_MAX = 120;
const KIND_WIDTH = 6;
const NAME_WIDTH = 20;

/** One event for people: time, kind, minion, tag, and a summary. */
export function eventLine(event: PagedEvent, { color, data }: LineStyle): string {
  const { tag, kind, timeMs } = event;
  const colors = colorsOf(color);
  const time = new Date(timeMs).toISOString().slice(11, 23);
  const name = visible(minionOf(event) ?? '-').padEnd(NAME_WIDTH);
  const paint = { plain: colors.green, bad: colors.lightRed, own: colors.cyan }[moodOf(event)];
  const summary = visible(summaryOf(event));
  const line =
    `${colors.darkGray}${time}${colors.end} ${paint}${kind.padEnd(KIND_WIDTH)}${colors.end} ` +
    `${name} ${paint}${visible(tag)}${colors.end}${summary === '' ? '' : `  ${summary}`}\n`;
  if (!data) return line;
  const lines = pythonJson(printable(event.data), true).split('\n').map(visible);
  return `${line}${lines.join('\n')}\n`;
}

/** One event for programs: a JSON object in one line. */
export function jsonLine({ tag, kind, timeMs, position, minion, data }: PagedEvent): string {
  const time = eventStamp(timeMs, true);
  const event = mapOf({ time, position, kind, minion: minion ?? null, tag, data });
  return `${pythonJson(printable(event), false)}\n`;
}

function minionOf({ minion, data, tag }: PagedEvent): string | undefined {
  if (minion !== undefined) return minion;
  const summary = parseTag(tag);
  return 'id' in summary ? summary.id : textOf(data, 'id');
}

/** Classifies an event: a failure, an event of the master, or neither. */
function moodOf({ kind, data }: PagedEvent): 'plain' | 'bad' | 'own' {
  if (data.get('success') === false || data.get('result') === false) return 'bad';
  if ((intOf(data, 'retcode') ?? 0) !== 0 || data.has('error')) return 'bad';
  return kind === 'ret' || kind === 'minion' || kind === 'syndic' ? 'plain' : 'own';
}

function summaryOf({ kind, tag, data }: PagedEvent): string {
  const summary = parseTag(tag);
  if (summary.kind === 'job-return') return cut(`${funOf(data)} ${outcomeOf(data)}`);
  if (summary.kind === 'job-new') {
    const count = listOf(data, 'minions')?.length ?? 0;
    return cut(`${funOf(data)} ${pyStr(data.get('tgt') ?? '')} (${count} minions)`);
  }
  if (kind === 'auth' || kind === 'key') return cut(textOf(data, 'act') ?? '');
  if (summary.kind === 'run' || summary.kind === 'wheel') return cut(funOf(data));
  return cut(pythonJson(printable(withoutOwn(data)), false));
}

function funOf(data: SaltMap): string {
  return pyStr(data.get('fun') ?? '');
}

function outcomeOf(data: SaltMap): string {
  const retcode = data.get('retcode');
  const shown: SaltValue = data.get('return') ?? null;
  const code = typeof retcode === 'number' && retcode !== 0 ? `retcode ${retcode} ` : '';
  if (isMap(shown) || Array.isArray(shown)) return `${code}…`;
  return code + (pyStr(shown).split('\n')[0] ?? '');
}

/** Removes the fields that every event has. */
function withoutOwn(data: SaltMap): SaltMap {
  return new Map([...data].filter(([key]) => key !== '_stamp' && key !== 'cmd'));
}

function cut(text: string): string {
  return text.length > SUMMARY_MAX ? `${text.slice(0, SUMMARY_MAX - 1)}…` : text;
}
