/**
 * Dates as people write them, with timelib's results (timelib: timelib.pyx strtodatetime). The UTC
 * fields of each Date are the time on the clock. Only texts with one meaning are read.
 */

const DATE = /^(\d{4})(?:-(\d{1,2})-(\d{1,2})|\/(\d{1,2})\/(\d{1,2})|(\d{2})(\d{2}))/;
/** A fraction of a second is ignored, as in timelib. */
const TIME = /^(?:[ \t]*|[Tt])(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,]\d+)?)?$/;
const DENSE_TIME = /^[Tt]?(\d{2})(\d{2})(\d{2})$/;
/** Longest text with one of these meanings. */
const MAX_LENGTH = 64;

/**
 * The date in a text; undefined for any other text, also for a timestamp.
 * @param now in ms since 1970, for `now`, `today`, `tomorrow` and `yesterday`, which are of UTC
 */
export function parsedDate(given: string, now: number): Date | undefined {
  if (given.length > MAX_LENGTH) return undefined;
  const text = given.trim();
  const day = DAY_WORDS.get(text.toLowerCase());
  if (day !== undefined) return day(Math.floor(now / 1000) * 1000);
  const date = DATE.exec(text);
  if (date === null) return undefined;
  const [whole, year, ...rest] = date;
  const [month = '', monthDay = ''] = rest.filter((part) => part !== undefined);
  const after = text.slice(whole.length);
  const isDense = rest.at(-1) !== undefined;
  const time = after === '' ? [] : timeIn(after, isDense);
  if (time === undefined) return undefined;
  return checked([Number(year), Number(month), Number(monthDay)], time);
}

const DAY_MS = 86_400_000;
const startOf = (time: number): Date => new Date(Math.floor(time / DAY_MS) * DAY_MS);

const DAY_WORDS: ReadonlyMap<string, (now: number) => Date> = new Map([
  ['now', (now: number) => new Date(now)],
  ['today', startOf],
  ['tomorrow', (now: number) => startOf(now + DAY_MS)],
  ['yesterday', (now: number) => startOf(now - DAY_MS)],
]);

/** Any time may follow `20200102`; a date with separators needs a time with colons. */
function timeIn(text: string, isDense: boolean): number[] | undefined {
  const found = TIME.exec(text) ?? (isDense ? DENSE_TIME.exec(text) : null);
  if (found === null || (/^\d/.test(text) && text.includes(':'))) return undefined;
  return found.slice(1).map((part = '0') => Number(part));
}

/** Refuses days that the calendar lacks, where timelib continues into the next month. */
function checked(
  [year = 0, month = 0, day = 0]: readonly number[],
  [hour = 0, minute = 0, second = 0]: readonly number[],
): Date | undefined {
  const at = new Date(0);
  at.setUTCFullYear(year, month - 1, day);
  at.setUTCHours(hour, minute, second);
  const isThere =
    year > 0 &&
    at.getUTCMonth() === month - 1 &&
    at.getUTCDate() === day &&
    hour < 24 &&
    minute < 60 &&
    second < 60;
  return isThere ? at : undefined;
}
