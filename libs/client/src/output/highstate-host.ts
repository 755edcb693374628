import { isMap, type SaltMap, type SaltValue } from '@brine/wire';
import { isTruthy, pyStr, splitLines, stripEscapes, typeName } from '@brine/wire/text';
import { type Colors, colorsOf } from './colors.ts';
import { changeCount, stateCount } from './compress-states.ts';
import { formatChanges, formatState, formatTerse } from './highstate-state.ts';
import { type OutputContext, UnfitDataError } from './outputter.ts';
import { prettyFormat } from './pretty-format.ts';

/** The display of one minion's states and whether anything changed. */
export interface HostDisplay {
  readonly text: string;
  readonly changed: boolean;
}

/** The position of a display: states may contain the returns of other minions. */
export interface HostPlace {
  readonly context: OutputContext;
  readonly level: number;
  readonly showStates: (data: SaltValue, context: OutputContext, level: number) => string;
}

/** Shows the states of one minion, or the errors in place of them. */
export function formatHost(host: string, data: SaltValue, place: HostPlace): HostDisplay {
  const { context } = place;
  const colors = colorsOf(context.color);
  const head = (color: string): string => `${color}${stripEscapes(host)}:${colors.end}`;
  if (typeof data === 'boolean' || typeName(data) === 'int') {
    const line = `${colors.green}    ${pyStr(data)}${colors.end}`;
    return { text: `${head(colors.cyan)}\n${line}`, changed: true };
  }
  if (typeof data === 'string') {
    const lines = splitLines(data).map((line) => `${colors.green}    ${line}${colors.end}`);
    return { text: [head(colors.cyan), ...lines].join('\n'), changed: true };
  }
  if (Array.isArray(data)) return { text: formatErrors(head, data, colors), changed: false };
  if (!isMap(data)) return { text: head(colors.green), changed: false };
  return formatStates(host, head, data, place);
}

function formatErrors(
  head: (color: string) => string,
  errors: readonly SaltValue[],
  colors: Colors,
): string {
  const lines = errors.map(
    (error) => `${colors.lightRed}----------\n    ${stripEscapes(pyStr(error))}${colors.end}`,
  );
  const title = `    ${colors.lightRed}Data failed to compile:${colors.end}`;
  return [head(colors.lightRed), title, ...lines].join('\n');
}

interface Tally {
  succeeded: number;
  failed: number;
  undecided: number;
  other: number;
  warnings: number;
  changes: number;
  durationMs: number;
  longestParallelMs: number;
}

function formatStates(
  host: string,
  head: (color: string) => string,
  data: SaltMap,
  place: HostPlace,
): HostDisplay {
  const { context } = place;
  const colors = colorsOf(context.color);
  const lines: string[] = [];
  const states: [string, SaltMap][] = [];
  for (const [name, info] of data) {
    if (!isMap(info)) continue;
    if (info.size > 0 && name !== 'changes' && !info.has('__run_num__')) {
      lines.unshift(UNORDERED, prettyFormat(info));
    }
    if (info.has('result')) states.push([pyStr(name), info]);
  }
  states.sort((a, b) => runNumber(a[1]) - runNumber(b[1]));
  const tally: Tally = {
    succeeded: 0,
    failed: 0,
    undecided: 0,
    other: 0,
    warnings: 0,
    changes: 0,
    durationMs: 0,
    longestParallelMs: 0,
  };
  let headColor = colors.green;
  for (const [name, state] of states) {
    const shown = showState(name, state, tally, place);
    if (shown === undefined) continue;
    if (state.get('result') === false) headColor = colors.red;
    if (state.get('result') === null) headColor = colors.lightYellow;
    lines.push(...shown);
  }
  lines.push(...summary(host, tally, colors, context));
  return { text: [head(headColor), ...lines].join('\n'), changed: tally.changes > 0 };
}

const UNORDERED =
  'The State execution failed to record the order in which all states were executed. ' +
  'The state return missing data is:';

function runNumber(state: SaltMap): number {
  const number = state.get('__run_num__');
  return typeof number === 'number' ? number : 0;
}

const NESTED_RUNS = new Set<SaltValue>(['state.orch', 'state.orchestrate', 'state.sls']);

/** Counts a state and gives its lines; undefined if it is hidden. */
function showState(
  name: string,
  state: SaltMap,
  tally: Tally,
  place: HostPlace,
): string[] | undefined {
  const { context, level } = place;
  const result = state.get('result') ?? null;
  const count = context.state.compressIds ? stateCount(name) : 1;
  if (result === true) tally.succeeded += count;
  else if (result === false) tally.failed += count;
  else if (result === null) tally.undecided += count;
  else tally.other += count;
  countDuration(state, tally);
  let changes = formatChanges(state.get('changes') ?? null, context, (host, states) =>
    formatHost(host, states, { ...place, level: 1 }),
  );
  if (NESTED_RUNS.has(state.get('name') ?? null)) {
    const nested = `\n${place.showStates(state.get('changes') ?? null, context, level + 1)}`;
    const pad = ' '.repeat(14 * level);
    // To Python a line begins after a line feed alone.
    changes = { changed: true, text: pad + nested.replaceAll('\n', `\n${pad}`) };
  }
  if (changes.changed) tally.changes += count > 1 ? changeCount(state) : 1;
  const quiet = context.state.diff || !context.state.verbose;
  if (quiet && isTruthy(result) && !changes.changed) return undefined;
  const colors = colorsOf(context.color);
  let color = changes.changed ? colors.cyan : colors.green;
  if (result === false) color = colors.red;
  if (result === null) color = colors.lightYellow;
  const parts = name.split('_|-');
  const mode = context.state.output.toLowerCase();
  if (mode.endsWith('_id')) parts[2] = parts[1] ?? '';
  if (mode.startsWith('filter')) {
    if (isAmong(context.state.terse, result)) return [formatTerse(color, parts, state, context)];
    if (isAmong(context.state.exclude, result)) return [];
  } else if (isTerse(mode, result, changes.changed)) {
    return [formatTerse(color, parts, state, context)];
  }
  if (state.has('warnings')) tally.warnings += 1;
  return formatState(color, parts, state, changes.text, context);
}

/** True if `names` contains the result. @throws UnfitDataError if `names` can contain nothing */
function isAmong(names: SaltValue, result: SaltValue): boolean {
  const text = pyStr(result);
  if (typeof names === 'string') return names.split(',').includes(text);
  if (Array.isArray(names)) return names.includes(text);
  if (isMap(names)) return names.has(text);
  throw new UnfitDataError('TypeError', `argument of type '${typeName(names)}' is not iterable`);
}

function isTerse(mode: string, result: SaltValue, changed: boolean): boolean {
  if (mode.startsWith('terse')) return true;
  if (mode.startsWith('mixed')) return result !== false;
  return mode.startsWith('changes') && isTruthy(result) && !changed;
}

function countDuration(state: SaltMap, tally: Tally): void {
  const text = pyStr(state.get('duration') ?? 0).replace(/ ms.*$/s, '');
  const ms = Number(text);
  if (text.trim() === '' || Number.isNaN(ms)) return;
  if (state.has('__parallel__')) {
    tally.longestParallelMs = Math.max(tally.longestParallelMs, ms);
  } else {
    tally.durationMs += ms;
  }
}

/** A percentage as Python prints it, with two digits at most. */
function percentOf(part: number, total: number): string {
  const percent = Number(((part / total) * 100).toFixed(2));
  return Number.isInteger(percent) ? `${percent}.0` : String(percent);
}

/** The width of the longest label, `Succeeded`. */
const LABEL_WIDTH = 9;

function summary(host: string, tally: Tally, colors: Colors, context: OutputContext): string[] {
  const { succeeded, failed, undecided, other, warnings } = tally;
  const counts = [succeeded, failed, undecided, other, warnings].filter((count) => count > 0);
  const digits = Math.max(0, ...counts.map((count) => String(count).length));
  const width = LABEL_WIDTH + digits + 2;
  const count = (label: string, value: number | string): string =>
    `${label}: ${String(value).padStart(width - label.length - 2)}`;
  const rule = '-'.repeat(width);
  const stats: string[] = [];
  if (undecided > 0) stats.push(`${colors.lightYellow}unchanged=${undecided}${colors.end}`);
  if (tally.changes > 0) stats.push(`${colors.green}changed=${tally.changes}${colors.end}`);
  const detail = stats.length > 0 ? ` (${stats.join(', ')})` : '';
  const lines = [
    `${colors.cyan}\nSummary for ${host}\n${rule}${colors.end}`,
    `${colors.green}${count('Succeeded', succeeded + undecided)}${colors.end}${detail}`,
    `${failed > 0 ? colors.red : colors.cyan}${count('Failed', failed)}${colors.end}`,
  ];
  const total = succeeded + failed + undecided + other;
  if (context.state.percent && total > 0) {
    const good = percentOf(succeeded + undecided, total);
    lines.push(`${colors.green}${count('Success %', good)}${colors.end}`);
    const bad = count('Failure %', percentOf(failed, total));
    lines.push(`${failed > 0 ? colors.red : colors.cyan}${bad}${colors.end}`);
  }
  if (warnings > 0) lines.push(`${colors.lightRed}${count('Warnings', warnings)}${colors.end}`);
  const states = `Total states run: ${String(total).padStart(width - 7)}`;
  lines.push(`${colors.cyan}${rule}\n${states}${colors.end}`);
  if (context.state.profile) {
    let duration = tally.durationMs + tally.longestParallelMs;
    const unit = duration > 999 ? 's' : 'ms';
    if (duration > 999) duration /= 1000;
    const time = duration.toFixed(3).padStart(width - 5);
    lines.push(`${colors.cyan}Total run time: ${time} ${unit}${colors.end}`);
  }
  return lines;
}
