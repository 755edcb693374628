import { errorText } from '@brine/tasks';
import { Cron } from 'croner';
import type { WallMs } from './zone.ts';

/** An invalid cron expression, or one that never comes due. */
export class CronError extends Error {
  override readonly name = 'CronError';
}

/** Times of a cron expression, by the wall clock. */
export interface CronTimes {
  /** The first time after another one; undefined: never. */
  next(after: WallMs): WallMs | undefined;
}

const NAMES = new Set([
  ...['@yearly', '@annually', '@monthly', '@weekly', '@daily', '@midnight', '@hourly'],
]);
const FIELD = /^[\d*?,/\-#a-z]+$/i;
const TEXT_MAX = 200;

/**
 * Reads a cron expression as Salt's croniter does: five fields, then seconds as the sixth and years
 * as the seventh; names such as `@daily`. Day of the month and day of the week are joined by "or"
 * if both are given.
 *
 * The library computes in UTC with wall times, so time zones stay outside of it.
 * @throws CronError
 */
export function readCron(text: string): CronTimes {
  const pattern = patternOf(text);
  let cron: Cron;
  try {
    cron = new Cron(pattern, { utcOffset: 0, sloppyRanges: true });
  } catch (error) {
    throw new CronError(errorText(error));
  }
  const next = (after: WallMs): WallMs | undefined => cron.nextRun(new Date(after))?.getTime();
  if (next(0) === undefined) throw new CronError('it never comes');
  return { next };
}

/** Converts to the library's order, which has the seconds first. */
function patternOf(text: string): string {
  if (text.length > TEXT_MAX) throw new CronError('it is too long');
  const words = text.trim().toLowerCase().split(/\s+/);
  const [first = ''] = words;
  if (words.length === 1 && NAMES.has(first)) return first;
  if (words.length < 5 || words.length > 7) throw new CronError('it has no 5, 6 or 7 fields');
  // Refuses signs that the library accepts and croniter does not.
  const odd = words.find((word) => !FIELD.test(word) || /[wr]/.test(named(word)));
  if (odd !== undefined) throw new CronError(`${JSON.stringify(odd)} is not read`);
  const fields = words.map((word, at) => fieldOf(word, at));
  const [minute, hour, day, month, weekday, second = '0', ...year] = fields;
  return [second, minute, hour, day, month, weekday, ...year].join(' ');
}

const MONTHS = 'jan feb mar apr may jun jul aug sep oct nov dec'.split(' ');
const DAYS = 'sun mon tue wed thu fri sat'.split(' ');
interface Bounds {
  readonly min: number;
  readonly max: number;
  readonly names?: readonly string[];
  /** Allows `?`. */
  readonly any?: true;
}

/** Values of the fields from minutes to seconds. */
const BOUNDS: readonly Bounds[] = [
  { min: 0, max: 59 },
  { min: 0, max: 23 },
  { min: 1, max: 31, any: true },
  { min: 1, max: 12, names: MONTHS },
  { min: 0, max: 6, names: DAYS, any: true },
  { min: 0, max: 59 },
];

/** Converts a field for the library, which has no `22-2` and takes `?` for a given day. */
function fieldOf(word: string, at: number): string {
  const bounds = BOUNDS[at];
  if (word === '?' && bounds?.any === true) return '*';
  if (word.includes('?')) throw new CronError('a ? stands for a day or a weekday alone');
  if (bounds === undefined) return word;
  const { min, names = [] } = bounds;
  const numberOf = (text = ''): number => {
    const named = names.indexOf(text);
    return named < 0 ? Number(text) : named + min;
  };
  const parts = word.split(',').map((part) => {
    const [, first, last, every = '1'] = /^(\w+)-(\w+)(?:\/(\d+))?$/.exec(part) ?? [];
    const [from, to, step] = [numberOf(first), numberOf(last), Number(every)];
    if (!(from > to && to >= min && step > 0)) return part;
    // Both 0 and 7 are Sunday.
    const values = wrapped(at === 4 && from === 7 ? 0 : from, to, step, bounds);
    return values.length === 0 ? part : values.join();
  });
  return parts.join(',');
}

/** The values of a range that wraps around the end of its field, with the steps of croniter. */
function wrapped(from: number, to: number, step: number, { min, max }: Bounds): readonly number[] {
  const values: number[] = [];
  const add = (begin: number, end: number): void => {
    for (let value = begin; value <= end; value += step) values.push(value);
  };
  if (from <= to) add(from, to);
  else {
    add(from, max);
    const left = max - (values.at(-1) ?? max);
    const isOver = step > left + 1;
    if (values.length > 0) add(isOver ? min + step - left : min, to);
  }
  return values;
}

const NAMED = new RegExp([...MONTHS, ...DAYS].join('|'), 'g');

/** Removes the names of months and days, whose letters would look like signs. */
function named(word: string): string {
  return word.replace(NAMED, '');
}
