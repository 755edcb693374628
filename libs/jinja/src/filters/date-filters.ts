import { strip } from '@brine/wire/text';
import { bindFilter } from '../arguments.ts';
import type { Filter } from '../environment.ts';
import { typeError, valueError } from '../errors.ts';
import { str } from '../python/text.ts';
import { type CallArguments, numberOf, typeName, Undefined } from '../python/values.ts';
import { parsedDate } from './date-texts.ts';

/** A time of the local zone as a clock there shows it: the same numbers in a Date as UTC. */
interface Shown {
  readonly at: Date;
  /** Beside the milliseconds of `at`, which are none. */
  readonly micros: number;
}

/** Seconds since 1970 that Python's datetime has, in UTC. */
const FIRST_SECOND = -62_135_596_799;
const LAST_SECOND = 253_402_300_799;

/**
 * Salt's filters for dates (Salt: salt/utils/dateutils.py). Texts that are no numbers mean what
 * they mean to timelib, which Salt asks where it is installed.
 */
export const DATE_FILTERS: ReadonlyMap<string, Filter> = new Map<string, Filter>([
  ['date_format', (value, args, { outside }) => date(value, args, outside.now())],
  ['strftime', (value, args, { outside }) => date(value, args, outside.now())],
]);

function date(value: unknown, args: CallArguments, now: number): string {
  const defaults = { date: null, format: '%Y-%m-%d' };
  const format = bindFilter('strftime', 'date', value, ['format'], args, defaults).get('format');
  if (value instanceof Undefined) throw value.error();
  const at = castDate(value, now);
  if (typeof format !== 'string') {
    const type = format === null ? 'None' : typeName(format);
    throw typeError(`strftime() argument 1 must be str, not ${type}`);
  }
  return strftime(at, format);
}

function castDate(value: unknown, now: number): Shown {
  if (value === null) return ofSeconds(now / 1000) ?? unreadable(value);
  if (typeof value !== 'string')
    return ofSeconds(Number(numberOf(value) ?? NaN)) ?? unreadable(value);
  const parsed = parsedDate(value, now);
  if (parsed !== undefined) return { at: parsed, micros: 0 };
  const seconds = timestampIn(value);
  return (seconds === undefined ? undefined : ofSeconds(seconds)) ?? unreadable(value);
}

function unreadable(value: unknown): never {
  throw valueError(`Unable to parse ${str(value)}. Consider installing timelib`);
}

/** Below this a text of digits may be a year, a time or a date to timelib. */
const CLEAR_SECONDS = 100_000_000;
/** Digits that are none of these. */
const FEW_DIGITS = /^\d{1,3}$/;

/**
 * The timestamp in a text, where Salt takes the text for one with timelib and without it.
 * @throws JinjaError where only one of the two does, for another date
 */
function timestampIn(text: string): number | undefined {
  const digits = strip(text);
  if (!/^[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?$/.test(digits)) return undefined;
  const seconds = Number(digits);
  const isClear = Math.abs(seconds) >= CLEAR_SECONDS || FEW_DIGITS.test(digits);
  if (isClear && !/^0\d{8}/.test(digits)) return seconds;
  const words = 'without timelib a timestamp, with it another date';
  throw valueError(`Unable to parse ${text}: ${words}`);
}

function ofSeconds(seconds: number): Shown | undefined {
  if (!(seconds >= FIRST_SECOND && seconds <= LAST_SECOND + 1)) return undefined;
  const whole = Math.floor(seconds);
  const micros = Math.round((seconds - whole) * 1_000_000);
  const local = new Date((whole + (micros === 1_000_000 ? 1 : 0)) * 1000);
  const at = new Date(0);
  at.setUTCFullYear(local.getFullYear(), local.getMonth(), local.getDate());
  at.setUTCHours(local.getHours(), local.getMinutes(), local.getSeconds());
  const year = at.getUTCFullYear();
  return year < 1 || year > 9999 ? undefined : { at, micros: micros % 1_000_000 };
}

const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const MONTHS = [
  ...['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September'],
  ...['October', 'November', 'December'],
];

const LONG: Readonly<Record<string, string>> = {
  c: '%a %b %e %H:%M:%S %Y',
  D: '%m/%d/%y',
  F: '%Y-%m-%d',
  r: '%I:%M:%S %p',
  R: '%H:%M',
  T: '%H:%M:%S',
  x: '%m/%d/%y',
  X: '%H:%M:%S',
};

/** Python's `datetime.strftime` in the C locale. */
function strftime({ at, micros }: Shown, format: string): string {
  const parts = partsOf(at, micros);
  return format
    .replaceAll(/%%|%([cDFrRTxX])/g, (whole, letter: string | undefined) =>
      letter === undefined ? whole : (LONG[letter] ?? whole),
    )
    .replaceAll(/%([-_0^]?)([a-zA-Z%])/g, (whole, flag: string, letter: string) => {
      const part = parts[letter];
      return part === undefined ? whole : flagged(part, flag);
    });
}

/** What the C library makes of a flag before the letter. */
function flagged(part: string, flag: string): string {
  if (flag === '^') return part.toUpperCase();
  if (flag === '' || !/^[ 0]*\d+$/.test(part)) return part;
  const digits = part.replace(/^[ 0]+(?=\d)/, '');
  return flag === '-' ? digits : digits.padStart(part.length, flag === '_' ? ' ' : '0');
}

function partsOf(at: Date, micros: number): Readonly<Record<string, string>> {
  const two = (value: number): string => String(value).padStart(2, '0');
  const [year, month, monthDay] = [at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate()];
  const [hour, minute, second] = [at.getUTCHours(), at.getUTCMinutes(), at.getUTCSeconds()];
  const weekDay = at.getUTCDay();
  const yearDay = dayOfYear(at);
  const hour12 = hour % 12 === 0 ? 12 : hour % 12;
  const [dayName = '', monthName = ''] = [DAYS[weekDay], MONTHS[month]];
  const iso = isoWeek(at);
  const local = new Date(year, month, monthDay, hour, minute, second);
  if (year < 100) local.setFullYear(year);
  return {
    a: dayName.slice(0, 3),
    A: dayName,
    b: monthName.slice(0, 3),
    B: monthName,
    C: two(Math.floor(year / 100)),
    d: two(monthDay),
    e: String(monthDay).padStart(2),
    f: String(micros).padStart(6, '0'),
    g: two(iso.year % 100),
    G: String(iso.year),
    h: monthName.slice(0, 3),
    H: two(hour),
    I: two(hour12),
    j: String(yearDay + 1).padStart(3, '0'),
    k: String(hour).padStart(2),
    l: String(hour12).padStart(2),
    m: two(month + 1),
    M: two(minute),
    n: '\n',
    p: hour < 12 ? 'AM' : 'PM',
    P: hour < 12 ? 'am' : 'pm',
    s: String(Math.floor(local.getTime() / 1000)),
    S: two(second),
    t: '\t',
    u: String(weekDay === 0 ? 7 : weekDay),
    U: two(Math.floor((yearDay + 7 - weekDay) / 7)),
    V: two(iso.week),
    w: String(weekDay),
    W: two(Math.floor((yearDay + 7 - ((weekDay + 6) % 7)) / 7)),
    y: two(year % 100),
    Y: String(year),
    z: '',
    Z: '',
    '%': '%',
  };
}

const DAY_MS = 86_400_000;

function dayOfYear(at: Date): number {
  const first = new Date(at);
  first.setUTCMonth(0, 1);
  return Math.round((at.getTime() - first.getTime()) / DAY_MS);
}

/** A week belongs to the year of its Thursday. */
function isoWeek(at: Date): { readonly year: number; readonly week: number } {
  const thursday = new Date(at.getTime() + (3 - ((at.getUTCDay() + 6) % 7)) * DAY_MS);
  return { year: thursday.getUTCFullYear(), week: Math.floor(dayOfYear(thursday) / 7) + 1 };
}
