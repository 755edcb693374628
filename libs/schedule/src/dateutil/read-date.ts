import { NotUnderstood } from './not-understood.ts';
import { type DateParts, parseDate } from './parse.ts';
import { daysIn } from './year-month-day.ts';

/** A text that is not a time, with the message of dateutil's ParserError. */
export class DateTextError extends Error {
  override readonly name = 'DateTextError';
}

/** Length limit of a text. */
const TEXT_MAX = 200;
const DAY_MS = 86_400_000;

/**
 * Reads a time as unix ms, as dateutil's parser does with its defaults (dateutil:
 * parser/_parser.py). Missing parts are those of the day at `nowMs`, at midnight. A text without a
 * zone is in UTC, as job ids are. A zone that is neither UTC nor an offset is refused; dateutil
 * warns and ignores it.
 * @throws DateTextError
 */
export function readDate(text: string, nowMs: number): number {
  const now = new Date(nowMs);
  const parts = partsOf(text, now.getUTCFullYear());
  const year = parts.year ?? now.getUTCFullYear();
  const month = parts.month ?? now.getUTCMonth() + 1;
  const isMonth = month >= 1 && month <= 12;
  if (parts.day === undefined && !isMonth) {
    throw new DateTextError(`bad month number ${month}; must be 1-12: ${text}`);
  }
  // The day of today is cut to the length of the month.
  const last = isMonth ? daysIn(year, month) : 0;
  const day = parts.day ?? Math.min(now.getUTCDate(), last);
  const wrong = wrongIn({ ...parts, year, month, day });
  if (wrong !== undefined) throw new DateTextError(`${wrong}: ${text}`);
  const { weekday, hour = 0, minute = 0, second = 0, microsecond = 0 } = parts;
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute, second, Math.floor(microsecond / 1000));
  const ms = date.getTime();
  const ahead =
    weekday === undefined || parts.day !== undefined
      ? 0
      : (weekday - ((date.getUTCDay() + 6) % 7) + 7) % 7;
  return ms + ahead * DAY_MS - offsetOf(parts, text) * 1000;
}

/**
 * The parts of a text, as {@link readDate} reads it.
 * @param thisYear the year that two-digit years are near
 * @throws DateTextError also for a text without any part
 */
export function partsOf(text: string, thisYear: number): DateParts {
  const parts = parsed(text, thisYear);
  if (Object.keys(parts).length > 0) return parts;
  throw new DateTextError(`String does not contain a date: ${text}`);
}

function parsed(text: string, thisYear: number): DateParts {
  try {
    if (text.length <= TEXT_MAX) return parseDate(text, thisYear);
  } catch (error) {
    if (!(error instanceof NotUnderstood)) throw error;
  }
  throw new DateTextError(`Unknown string format: ${text}`);
}

function offsetOf({ zoneName, offsetSeconds }: DateParts, text: string): number {
  // Python refuses an offset of a day or more.
  if (Math.abs(offsetSeconds ?? 0) < DAY_MS / 1000) {
    if (offsetSeconds !== undefined) return offsetSeconds;
    if (zoneName === undefined) return 0;
  }
  throw new DateTextError(`Unknown string format: ${text}`);
}

/** The fault of a date, with the text of Python's datetime. */
export function wrongIn(
  parts: Required<Pick<DateParts, 'year' | 'month' | 'day'>> & DateParts,
): string | undefined {
  const { year, month, day, hour = 0, minute = 0, second = 0 } = parts;
  if (year < 1 || year > 9999) return `year ${year} is out of range`;
  if (month < 1 || month > 12) return 'month must be in 1..12';
  if (day < 1 || day > daysIn(year, month)) return 'day is out of range for month';
  if (hour > 23) return 'hour must be in 0..23';
  if (minute > 59) return 'minute must be in 0..59';
  if (second > 59) return 'second must be in 0..59';
  return undefined;
}
