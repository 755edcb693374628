import { strftime, strip, wallClock } from '@brine/wire/text';
import { bindFilter } from '../arguments.ts';
import type { Filter } from '../environment.ts';
import { typeError, valueError } from '../errors.ts';
import { str } from '../python/text.ts';
import { type CallArguments, numberOf, typeName, Undefined } from '../python/values.ts';
import { parsedDate } from './date-texts.ts';

/** A time of the local zone. */
interface Shown {
  /** The time of a clock in this zone, as the UTC fields of a Date without milliseconds. */
  readonly wall: Date;
  readonly micros: number;
}

/** The first second of Python's datetime, since 1970 in UTC. */
const FIRST_SECOND = -62_135_596_799;
const LAST_SECOND = 253_402_300_799;

/**
 * Salt's filters for dates (Salt: salt/utils/dateutils.py). Texts other than numbers are read as
 * timelib reads them, which Salt uses where it is installed.
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
  return strftime(at.wall, format, at.micros);
}

function castDate(value: unknown, now: number): Shown {
  if (value === null) return ofSeconds(now / 1000) ?? unreadable(value);
  if (typeof value !== 'string')
    return ofSeconds(Number(numberOf(value) ?? NaN)) ?? unreadable(value);
  const parsed = parsedDate(value, now);
  if (parsed !== undefined) return { wall: parsed, micros: 0 };
  const seconds = timestampIn(value);
  return (seconds === undefined ? undefined : ofSeconds(seconds)) ?? unreadable(value);
}

function unreadable(value: unknown): never {
  throw valueError(`Unable to parse ${str(value)}. Consider installing timelib`);
}

/** Shorter texts of digits may be a year, a time or a date to timelib. */
const CLEAR_SECONDS = 100_000_000;
/** Too few digits for any of these. */
const FEW_DIGITS = /^\d{1,3}$/;

/**
 * The timestamp in a text, if Salt reads the same one with and without timelib.
 * @throws JinjaError if the two would read different dates
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
  const wall = wallClock(new Date((whole + (micros === 1_000_000 ? 1 : 0)) * 1000));
  const year = wall.getUTCFullYear();
  return year < 1 || year > 9999 ? undefined : { wall, micros: micros % 1_000_000 };
}
