import { dayOf, daysLater, type WallMs } from './zone.ts';

/**
 * What a text says of a date and a time; what it leaves out is that of a day which is given later.
 * Months from 1, weekdays from 0 for Monday, as Python has them.
 */
export interface DateText {
  readonly year?: number;
  readonly month?: number;
  readonly day?: number;
  readonly weekday?: number;
  /** Time of the day in ms; midnight where the text has none. */
  readonly timeMs: number;
}

/** A text that is no date in one of the forms that are read. */
export class DateTextError extends Error {
  override readonly name = 'DateTextError';
}

const MONTHS = [
  ...['january', 'february', 'march', 'april', 'may', 'june', 'july', 'august'],
  ...['september', 'october', 'november', 'december'],
];
const DAYS = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'];
/** Words without a meaning (dateutil: parserinfo.JUMP). */
const EMPTY = new Set(['at', 'on', 'and', 'ad', 'm', 'of', 't', 'st', 'nd', 'rd', 'th']);

const TEXT_MAX = 100;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

const CLOCK = /^(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:[.,](\d{1,6}))?)?\s*(am|pm|a|p)?(?![a-z0-9:])/;
const HOUR_OF_HALF = /^(\d{1,2})\s*(am|pm|a|p)(?![a-z0-9])/;
const DATE = /^(\d{1,4}|[a-z]{3,9})([-/.])(\d{1,4}|[a-z]{3,9})(?:\2(\d{1,4}))?(?![-/.]?\d)/;
const DIGITS = /^(\d{14}|\d{12}|\d{8})(?!\d)/;
const TIME_DIGITS = /^t(\d{2})(\d{2})?(\d{2})?(?!\d)/;
const NUMBER = /^(\d{1,4})(?:st|nd|rd|th)?(?![\d.])/;
const WORD = /^[a-z]+\.?/;
const SPACE = /^[\s,;.]+/;

/** What was found so far. */
interface Found {
  /** Year, month and day in the order of the text, as far as it has them. */
  readonly parts: { readonly value: number; readonly isMonth?: true; readonly isYear?: true }[];
  weekday?: number;
  timeMs?: number;
}

/**
 * Reads a date as Salt's schedule has it (dateutil's parser with its presets), in its usual forms:
 * `5:00pm`, `Monday 17:00`, `2026-11-25 08:00`, `11/25/2026 8am`, `Nov 25, 2026`,
 * `20261125T080000`. Numbers alone are month, day, year, as in the United States.
 * @param thisYear what a year of two digits is near to
 * @throws DateTextError
 */
export function readDateText(text: string, thisYear: number): DateText {
  if (text.length > TEXT_MAX) throw new DateTextError('it is too long');
  const found: Found = { parts: [] };
  let rest = text.trim().toLowerCase();
  if (rest === '') throw new DateTextError('it is empty');
  while (rest !== '') {
    const length = SPACE.exec(rest)?.[0].length ?? takeNext(rest, found);
    rest = rest.slice(length);
  }
  if (found.parts.length > 3) throw new DateTextError('it has too many numbers');
  const { timeMs = 0, weekday } = found;
  const date = dateOf(found.parts, thisYear);
  return checked({ ...date, ...(weekday === undefined ? {} : { weekday }), timeMs });
}

/** Takes what stands at the beginning; gives its length. */
function takeNext(rest: string, found: Found): number {
  const takers = [takeClock, takeHour, takeDigits, takeTimeDigits, takeDate, takeNumber, takeWord];
  for (const take of takers) {
    const length = take(rest, found);
    if (length > 0) return length;
  }
  throw new DateTextError(`${JSON.stringify(rest)} is not read`);
}

function takeClock(rest: string, found: Found): number {
  const match = CLOCK.exec(rest);
  if (match === null) return 0;
  const [all, hour, minute, second, fraction, half] = match;
  const ms = fraction === undefined ? 0 : Math.floor(Number(`0.${fraction}`) * 1000);
  setTime(found, hourOf(Number(hour), half), Number(minute), Number(second ?? 0), ms);
  return all.length;
}

function takeHour(rest: string, found: Found): number {
  const match = HOUR_OF_HALF.exec(rest);
  if (match === null) return 0;
  setTime(found, hourOf(Number(match[1]), match[2]), 0, 0, 0);
  return match[0].length;
}

/** `20261125`, with the time after it without or with a `T`. */
function takeDigits(rest: string, found: Found): number {
  const match = DIGITS.exec(rest);
  const digits = match?.[1];
  if (digits === undefined) return 0;
  const at = (from: number, to: number): number => Number(digits.slice(from, to));
  found.parts.push({ value: at(0, 4), isYear: true }, { value: at(4, 6), isMonth: true });
  found.parts.push({ value: at(6, 8) });
  if (digits.length > 8) setTime(found, at(8, 10), at(10, 12), at(12, 14), 0);
  return digits.length;
}

function takeTimeDigits(rest: string, found: Found): number {
  const match = found.parts.length === 3 ? TIME_DIGITS.exec(rest) : null;
  if (match === null || CLOCK.test(rest.slice(1))) return 0;
  setTime(found, Number(match[1]), Number(match[2] ?? 0), Number(match[3] ?? 0), 0);
  return match[0].length;
}

function takeDate(rest: string, found: Found): number {
  const match = DATE.exec(rest);
  if (match === null) return 0;
  const [all, first = '', , second = '', third] = match;
  const words = [first, second, ...(third === undefined ? [] : [third])];
  // One number with a point is a fraction, and no date.
  if (third === undefined && match[2] === '.') return 0;
  for (const word of words) {
    const month = /\d/.test(word) ? undefined : monthOf(word);
    if (month !== undefined) found.parts.push({ value: month, isMonth: true });
    else if (/^\d+$/.test(word)) found.parts.push(numberPart(word));
    else return 0;
  }
  return all.length;
}

function takeNumber(rest: string, found: Found): number {
  const match = NUMBER.exec(rest);
  if (match?.[1] === undefined) return 0;
  found.parts.push(numberPart(match[1]));
  return match[0].length;
}

function numberPart(digits: string): { readonly value: number; readonly isYear?: true } {
  return { value: Number(digits), ...(digits.length > 2 ? { isYear: true } : {}) };
}

function takeWord(rest: string, found: Found): number {
  const match = WORD.exec(rest);
  if (match === null) return 0;
  const word = match[0].replace('.', '');
  const month = monthOf(word);
  const weekday = DAYS.findIndex((day) => isName(word, day));
  if (month !== undefined) found.parts.push({ value: month, isMonth: true });
  else if (weekday >= 0) found.weekday = weekday;
  else if (!EMPTY.has(word)) return 0;
  return match[0].length;
}

function monthOf(word: string): number | undefined {
  const at = MONTHS.findIndex((month) => isName(word === 'sept' ? 'sep' : word, month));
  return at < 0 ? undefined : at + 1;
}

/** A whole name, or its first three letters. */
function isName(word: string, name: string): boolean {
  return word === name || word === name.slice(0, 3);
}

function hourOf(hour: number, half: string | undefined): number {
  if (half === undefined) return hour;
  if (hour > 12) throw new DateTextError('an hour with am or pm goes up to 12');
  return (hour % 12) + (half.startsWith('p') ? 12 : 0);
}

function setTime(found: Found, hour: number, minute: number, second: number, ms: number): void {
  if (found.timeMs !== undefined) throw new DateTextError('it has two times of the day');
  if (hour > 23 || minute > 59 || second > 59) throw new DateTextError('no such time of the day');
  found.timeMs = hour * HOUR_MS + minute * MINUTE_MS + second * 1000 + ms;
}

type Parts = Found['parts'];

/** Which number is what, in dateutil's order (dateutil: _ymd.resolve_ymd). */
function dateOf(parts: Parts, thisYear: number): Pick<DateText, 'year' | 'month' | 'day'> {
  const monthAt = parts.findIndex(({ isMonth }) => isMonth === true);
  const order = orderOf(parts, monthAt);
  const value = (what: string): number | undefined => parts[order.indexOf(what)]?.value;
  const year = value('year');
  const month = value('month');
  const day = value('day');
  const isShort = parts[order.indexOf('year')]?.isYear !== true;
  return {
    ...(year === undefined ? {} : { year: isShort ? fullYear(year, thisYear) : year }),
    ...(month === undefined ? {} : { month }),
    ...(day === undefined ? {} : { day }),
  };
}

function orderOf(parts: Parts, monthAt: number): readonly string[] {
  const isYear = (at: number): boolean =>
    parts[at]?.isYear === true || (parts[at]?.value ?? 0) > 31;
  if (parts.length === 0) return [];
  if (parts.length === 1) return [monthAt === 0 ? 'month' : isYear(0) ? 'year' : 'day'];
  if (parts.length === 2) {
    if (monthAt === 0) return ['month', isYear(1) ? 'year' : 'day'];
    if (monthAt === 1) return [isYear(0) ? 'year' : 'day', 'month'];
    if (isYear(0)) return ['year', 'month'];
    return ['month', isYear(1) ? 'year' : 'day'];
  }
  if (monthAt === 0) return isYear(1) ? ['month', 'year', 'day'] : ['month', 'day', 'year'];
  if (monthAt === 1) return isYear(0) ? ['year', 'month', 'day'] : ['day', 'month', 'year'];
  if (monthAt === 2) return isYear(1) ? ['day', 'year', 'month'] : ['year', 'day', 'month'];
  if (isYear(0)) return ['year', 'month', 'day'];
  return (parts[0]?.value ?? 0) > 12 ? ['day', 'month', 'year'] : ['month', 'day', 'year'];
}

/** A year of two digits is one of the hundred around this one (dateutil: convertyear). */
function fullYear(year: number, thisYear: number): number {
  if (year >= 100) return year;
  const near = Math.floor(thisYear / 100) * 100 + year;
  if (near >= thisYear + 50) return near - 100;
  return near < thisYear - 50 ? near + 100 : near;
}

function checked(text: DateText): DateText {
  const { year = 2000, month = 1, day = 1 } = text;
  const isDate = month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year, month);
  if (!isDate || year < 1) throw new DateTextError('there is no such date');
  return text;
}

function daysIn(year: number, month: number): number {
  return new Date(Date.UTC(year, month, 0)).getUTCDate();
}

/**
 * The time that a text means on a day: what it leaves out is that of the day. A weekday without a
 * date is the next one, the day itself included. Undefined where there is no such date.
 */
export function timeOn(text: DateText, day: WallMs): WallMs | undefined {
  const given = new Date(day);
  const year = text.year ?? given.getUTCFullYear();
  const month = text.month ?? given.getUTCMonth() + 1;
  const last = daysIn(year, month);
  // Salt's day of today is cut to the length of the month that the text names.
  const dayOfMonth = text.day ?? Math.min(given.getUTCDate(), last);
  if (dayOfMonth > last) return undefined;
  const date = Date.UTC(year, month - 1, dayOfMonth);
  if (text.weekday === undefined || text.day !== undefined) return date + text.timeMs;
  const weekday = (new Date(date).getUTCDay() + 6) % 7;
  return daysLater(date, (text.weekday - weekday + 7) % 7) + text.timeMs;
}

/** February 29 may be eight years away. */
const DAYS_AHEAD = 2_930;

/**
 * The first time after another one at which a text comes true, when it is read again each day as
 * Salt does: `5:00pm` comes each day, `Monday` each week. Undefined for never.
 */
export function nextTime(text: DateText, after: WallMs): WallMs | undefined {
  const { year, month, day } = text;
  if (year !== undefined && month !== undefined && day !== undefined) {
    const only = timeOn(text, after);
    return only !== undefined && only > after ? only : undefined;
  }
  const today = dayOf(after);
  for (let days = 0; days < DAYS_AHEAD; days += 1) {
    const date = daysLater(today, days);
    const time = timeOn(text, date);
    if (time !== undefined && time > after && dayOf(time) === date) return time;
  }
  return undefined;
}

/** Whether a text names no day at all, so that it comes each day. */
export function isDaily({ year, month, day, weekday }: DateText): boolean {
  return [year, month, day, weekday].every((part) => part === undefined);
}
