import { isMap, listOf, type SaltMap, type SaltValue } from '@brine/wire';
import { isTruthy, pyLength, pyStr, splitLines, strip, stripEnd } from '@brine/wire/text';
import { colorsOf } from './colors.ts';
import { nestedOutput } from './nested.ts';
import type { OutputContext } from './outputter.ts';
import { fillText } from './text-wrap.ts';

/** The column of comments and changes. */
const COLUMN = 14;

/** The changes of a state as text; `changed` is false if there are none. */
export interface ChangesDisplay {
  readonly changed: boolean;
  readonly text: string;
}

/** Shows the changes of a state in the nested form, or as states if they are states. */
export function formatChanges(
  changes: SaltValue,
  context: OutputContext,
  formatHost: (host: string, states: SaltValue) => ChangesDisplay,
): ChangesDisplay {
  if (!isTruthy(changes)) return { changed: false, text: '' };
  if (!isMap(changes)) return { changed: true, text: `Invalid Changes data: ${pyStr(changes)}` };
  const runs = changes.get('ret') ?? null;
  if (!isMap(runs) || changes.get('out') !== 'highstate') {
    const nested = nestedOutput(changes, { ...context, retcode: 0, nestedIndent: COLUMN });
    return { changed: true, text: `\n${stripEnd(nested)}` };
  }
  let text = '';
  let changed = false;
  for (const [host, states] of runs) {
    const shown = formatHost(pyStr(host), states);
    const lines = splitLines(shown.text).map((line) => ' '.repeat(COLUMN) + line);
    text += `\n${lines.join('\n')}`;
    changed ||= shown.changed;
  }
  return { changed, text };
}

/** The block of one state. `parts` are function module, id, name and function. */
export function formatState(
  color: string,
  parts: readonly string[],
  state: SaltMap,
  changes: string,
  context: OutputContext,
): string[] {
  const { end, lightRed } = colorsOf(context.color);
  const line = (label: string, value: string): string => `    ${color}${label}: ${value}${end}`;
  const [module = '', id = '', name = '', fun = ''] = parts;
  const lines = [
    `${color}----------${end}`,
    line('      ID', id),
    line('Function', `${module}.${fun}`),
  ];
  if (id !== name) lines.push(line('    Name', name));
  lines.push(line('  Result', pyStr(state.get('result') ?? null)));
  lines.push(line(' Comment', comment(state)));
  if (context.state.profile && state.has('start_time')) {
    const duration = state.get('duration');
    lines.push(line(' Started', pyStr(state.get('start_time') ?? null)));
    lines.push(line('Duration', duration === undefined ? '' : `${pyStr(duration)} ms`));
  }
  lines.push(`${color}     Changes:   ${changes}${end}`);
  const warnings = listOf(state, 'warnings');
  if (warnings !== undefined) {
    const text = fillText(warnings.map(pyStr).join('\n'), COLUMN).trimStart();
    lines.push(`   ${lightRed} Warnings: ${text}${end}`);
  }
  return lines;
}

function comment(state: SaltMap): string {
  const text = pyStr(state.get('comment') ?? null);
  const shown = strip(text).replaceAll('\n', `\n${' '.repeat(COLUMN)}`);
  const data = state.get('data');
  if (data === undefined) return shown;
  if (Array.isArray(data)) return [shown, ...data.map(pyStr)].join(' ');
  if (!isMap(data)) return `${shown} ${pyStr(data)}`;
  return shown + [...data].map(([key, value]) => `\n\t\t${pyStr(key)}: ${pyStr(value)}`).join('');
}

/** One state in one line. */
export function formatTerse(
  color: string,
  parts: readonly string[],
  state: SaltMap,
  context: OutputContext,
): string {
  const { end, lightRed } = colorsOf(context.color);
  const result = state.get('result') ?? null;
  let word = isTruthy(state.get('changes')) ? 'Changed' : 'Clean';
  if (result === false) word = 'Failed';
  else if (result === null) word = 'Differs';
  const [module = '', , name = ''] = parts;
  const fun = parts.at(-1) ?? '';
  const warnings = listOf(state, 'warnings')?.map(pyStr).join('\n');
  const profile = context.state.profile && state.has('start_time');
  const started = pyStr(state.get('start_time') ?? '');
  const duration = pyStr(state.get('duration') ?? '');
  if (context.state.tabular) {
    const before = warnings === undefined ? '' : `${lightRed}Warnings:\n${warnings}${end}\n`;
    const time = profile ? `${started} [${padStart(duration, 7)} ms] ` : '';
    const what = `${padStart(module, 10)}.${padEnd(fun, 10)} ${padEnd(word, 7)}`;
    return `${before}${color}${time}${what}   Name: ${name}${end}`;
  }
  const before = warnings === undefined ? '' : `${lightRed}Warnings:\n${warnings}${end}`;
  const time = profile ? ` - Started: ${started} - Duration: ${duration} ms` : '';
  const what = `Name: ${name} - Function: ${module}.${fun} - Result: ${word}`;
  return `${before} ${color} ${what}${time}${end}`;
}

function padStart(text: string, width: number): string {
  return ' '.repeat(Math.max(0, width - pyLength(text))) + text;
}

function padEnd(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - pyLength(text)));
}
