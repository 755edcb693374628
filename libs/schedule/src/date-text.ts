import { DateTextError, partsOf, wrongIn } from './dateutil/read-date.ts';
import { daysIn } from './dateutil/year-month-day.ts';
import { dayOf, daysLater, type WallMs } from './zone.ts';

/**
 * A date and time in a text; the day on which it is read completes it. Months count from 1,
 * weekdays from 0 for Monday, as in Python.
 */
export interface DateText {
  readonly year?: number;
  readonly month?: number;
  readonly day?: number;
  readonly weekday?: number;
  /** Time of the day in ms; midnight if the text has none. */
  readonly timeMs: number;
}

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

/**
 * Reads a date as Salt's schedule does, with dateutil's parser: `5:00pm`, `Monday 17:00`,
 * `2026-11-25 08:00`, `11/25/2026 8am`, `Nov 25, 2026`. A zone is refused, because Salt's scheduler
 * can not compare such a time with its own.
 * @param thisYear the year that two-digit years are near
 * @throws DateTextError
 */
export function readDateText(text: string, thisYear: number): DateText {
  const parts = partsOf(text, thisYear);
  const { year, month, day, weekday, hour = 0, minute = 0, second = 0, microsecond = 0 } = parts;
  if (parts.zoneName !== undefined || parts.offsetSeconds !== undefined)
    throw new DateTextError(`a time of the schedule has no zone of its own: ${text}`);
  const wrong = wrongIn({ ...parts, year: year ?? 2000, month: month ?? 1, day: day ?? 1 });
  if (wrong !== undefined) throw new DateTextError(`${wrong}: ${text}`);
  const ms = Math.floor(microsecond / 1000);
  const timeMs = hour * HOUR_MS + minute * MINUTE_MS + second * 1000 + ms;
  return {
    ...(year === undefined ? {} : { year }),
    ...(month === undefined ? {} : { month }),
    ...(day === undefined ? {} : { day }),
    ...(weekday === undefined ? {} : { weekday }),
    timeMs,
  };
}

/**
 * The time of a text on a day, which fills its missing parts. A weekday without a date is the next
 * one, the day itself included. Undefined if the date does not exist.
 */
export function timeOn(text: DateText, day: WallMs): WallMs | undefined {
  const given = new Date(day);
  const year = text.year ?? given.getUTCFullYear();
  const month = text.month ?? given.getUTCMonth() + 1;
  const last = daysIn(year, month);
  // Salt cuts the day of today to the length of the named month.
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
 * The first time after another one at which a text is due. Salt reads it again each day, so
 * `5:00pm` comes each day and `Monday` each week. Undefined: never.
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

/** True if a text names no day, so that it comes each day. */
export function isDaily({ year, month, day, weekday }: DateText): boolean {
  return [year, month, day, weekday].every((part) => part === undefined);
}
