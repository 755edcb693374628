import type { WallMs } from './zone.ts';

/** A text that does not fit its format, or an unsupported directive in the format. */
export class FormatError extends Error {
  override readonly name = 'FormatError';
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const LONG_MONTHS = [
  ...['january', 'february', 'march', 'april', 'may', 'june', 'july', 'august'],
  ...['september', 'october', 'november', 'december'],
];
const WEEKDAYS = 'monday|tuesday|wednesday|thursday|friday|saturday|sunday';
const TEXT_MAX = 100;

/** Regular expression of each directive. */
const DIRECTIVES: Readonly<Record<string, string>> = {
  Y: '\\d{4}',
  y: '\\d{2}',
  m: '1[0-2]|0[1-9]|[1-9]',
  d: '3[01]|[12]\\d|0[1-9]|[1-9]',
  H: '2[0-3]|[01]\\d|\\d',
  I: '1[0-2]|0[1-9]|[1-9]',
  M: '[0-5]\\d|\\d',
  S: '[0-5]\\d|\\d',
  f: '\\d{1,6}',
  j: '36[0-6]|3[0-5]\\d|[12]\\d\\d|0?[1-9]\\d|0{0,2}[1-9]',
  p: 'am|pm',
  b: MONTHS.join('|'),
  B: LONG_MONTHS.join('|'),
  a: 'mon|tue|wed|thu|fri|sat|sun',
  A: WEEKDAYS,
};

/**
 * Reads a time by a format of Python's `strptime`, with English names. Missing parts are those of
 * 1900-01-01 00:00:00, as in Python.
 * @throws FormatError
 */
export function parseByFormat(text: string, format: string): WallMs {
  if (text.length > TEXT_MAX || format.length > TEXT_MAX) throw new FormatError('it is too long');
  const { pattern, names } = patternOf(format);
  const match = pattern.exec(text);
  if (match === null) throw new FormatError('it does not fit the format');
  const values = new Map(names.map((name, at) => [name, (match[at + 1] ?? '').toLowerCase()]));
  return timeOf(values);
}

function patternOf(format: string): { readonly pattern: RegExp; readonly names: string[] } {
  const names: string[] = [];
  const parts = format.match(/%.|\s+|[^%\s]+|%$/gs) ?? [];
  const source = parts.map((part) => {
    if (/^\s/.test(part)) return '\\s+';
    if (!part.startsWith('%')) return escaped(part);
    if (part === '%%') return '%';
    const name = part.slice(1);
    const takes = DIRECTIVES[name];
    if (takes === undefined) throw new FormatError(`${part} is not read in a format`);
    if (names.includes(name)) throw new FormatError(`${part} comes twice in the format`);
    names.push(name);
    return `(${takes})`;
  });
  return { pattern: new RegExp(`^${source.join('')}$`, 'i'), names };
}

function timeOf(values: ReadonlyMap<string, string>): WallMs {
  const number = (name: string): number | undefined => {
    const value = values.get(name);
    return value === undefined ? undefined : Number(value);
  };
  const year = number('Y') ?? ofTwoDigits(number('y')) ?? 1900;
  const month =
    number('m') ?? nameAt(MONTHS, values.get('b')) ?? nameAt(LONG_MONTHS, values.get('B'));
  const dayOfYear = number('j');
  const isByYear = dayOfYear !== undefined && month === undefined && !values.has('d');
  const day = isByYear ? dayOfYear : (number('d') ?? 1);
  const date = Date.UTC(year, (month ?? 1) - 1, day);
  const isThere = isByYear || new Date(date).getUTCDate() === day;
  if (!isThere || year < 1) throw new FormatError('there is no such date');
  const ms = Math.floor(Number(`0.${values.get('f') ?? '0'}`) * 1000);
  const minute = number('M') ?? 0;
  return date + ((hourOf(values, number) * 60 + minute) * 60 + (number('S') ?? 0)) * 1000 + ms;
}

function hourOf(
  values: ReadonlyMap<string, string>,
  number: (name: string) => number | undefined,
): number {
  const half = number('I');
  if (half === undefined) return number('H') ?? 0;
  return (half % 12) + (values.get('p') === 'pm' ? 12 : 0);
}

/** Python: 69 to 99 belong to the last century. */
function ofTwoDigits(year: number | undefined): number | undefined {
  if (year === undefined) return undefined;
  return year >= 69 ? 1900 + year : 2000 + year;
}

function nameAt(names: readonly string[], name: string | undefined): number | undefined {
  const at = name === undefined ? -1 : names.indexOf(name);
  return at < 0 ? undefined : at + 1;
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&');
}
