import { NotUnderstood } from './not-understood.ts';
import { dateTokens } from './tokens.ts';
import { YearMonthDay } from './year-month-day.ts';

/** The parts of a date. Months count from 1, weekdays from 0 for Monday, as in Python. */
export interface DateParts {
  year?: number;
  month?: number;
  day?: number;
  weekday?: number;
  hour?: number;
  minute?: number;
  second?: number;
  microsecond?: number;
  isPm?: boolean;
  zoneName?: string;
  offsetSeconds?: number;
}

const JUMPS = new Set([
  ...[' ', '.', ',', ';', '-', '/', "'", 'at', 'on', 'and', 'ad', 'm', 't', 'of'],
  ...['st', 'nd', 'rd', 'th'],
]);
const WEEKDAYS = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'];
const MONTHS = [
  ...['january', 'february', 'march', 'april', 'may', 'june', 'july', 'august'],
  ...['september', 'october', 'november', 'december'],
];
/** Hours, minutes, seconds. */
const UNITS = ['h hour hours', 'm minute minutes', 's second seconds'].map((line) =>
  line.split(' '),
);
const UTC_NAMES = new Set(['utc', 'gmt', 'z']);

/**
 * Reads a date and time (dateutil: parser/_parser.py parser._parse).
 * @param thisYear the year that two-digit years are near
 * @throws NotUnderstood
 */
export function parseDate(text: string, thisYear: number): DateParts {
  return new Parser(dateTokens(text), thisYear).parse();
}

class Parser {
  readonly #tokens: string[];
  readonly #date = new YearMonthDay();
  readonly #parts: DateParts = {};
  readonly #thisYear: number;

  constructor(tokens: string[], thisYear: number) {
    this.#tokens = tokens;
    this.#thisYear = thisYear;
  }

  parse(): DateParts {
    for (let at = 0; at < this.#tokens.length;) at = this.#take(at) + 1;
    const { year, ...rest } = this.#date.resolve();
    Object.assign(this.#parts, rest);
    if (year !== undefined) {
      this.#parts.year = this.#date.hasCentury ? year : withCentury(year, this.#thisYear);
    }
    settleZone(this.#parts);
    return this.#parts;
  }

  /** @throws NotUnderstood after the last token */
  #token(at: number): string {
    const token = this.#tokens[at];
    if (token === undefined) throw new NotUnderstood();
    return token;
  }

  /** Takes the part that begins at a token; returns the index of its last token. */
  #take(at: number): number {
    const token = this.#token(at);
    if (/^\d/.test(token)) return this.#takeNumber(at);
    // Python reads these as numbers; in a date they are invalid.
    if (/^(?:nan|inf|infinity)$/i.test(token)) throw new NotUnderstood();
    const weekday = nameIndex(WEEKDAYS, token);
    if (weekday !== undefined) {
      this.#parts.weekday = weekday;
      return at;
    }
    const month = monthOf(token);
    if (month !== undefined) return this.#takeMonth(at, month);
    const half = isPm(token);
    if (half !== undefined) {
      this.#takeHalf(half);
      return at;
    }
    if (this.#couldBeZone(token)) return this.#takeZone(at);
    if (this.#parts.hour !== undefined && /^[+-]$/.test(token)) return this.#takeOffset(at);
    if (!isJump(token)) throw new NotUnderstood();
    return at;
  }

  #takeMonth(at: number, month: number): number {
    this.#date.addNumber(month, 'month');
    const sign = this.#tokens[at + 1];
    if (sign === '-' || sign === '/') {
      this.#date.addText(this.#token(at + 2));
      if (this.#tokens[at + 3] !== sign) return at + 2;
      this.#date.addText(this.#token(at + 4));
      return at + 4;
    }
    const [, , word = '', space, year] = this.#tokens.slice(at, at + 5);
    const isOf = sign === ' ' && space === ' ' && word.toLowerCase() === 'of';
    if (!isOf || year === undefined) return at;
    if (/^\d+$/.test(year))
      this.#date.addText(String(withCentury(Number(year), this.#thisYear)), 'year');
    return at + 4;
  }

  #takeHalf(pm: boolean): void {
    const { hour } = this.#parts;
    if (hour === undefined || hour > 12) throw new NotUnderstood();
    this.#parts.hour = hourOfHalf(hour, pm);
    this.#parts.isPm = pm;
  }

  #couldBeZone(token: string): boolean {
    const { hour, zoneName, offsetSeconds } = this.#parts;
    if (hour === undefined || zoneName !== undefined || offsetSeconds !== undefined) return false;
    return /^(?:[A-Z]{1,5}|z)$/.test(token);
  }

  #takeZone(at: number): number {
    const name = this.#token(at);
    this.#parts.zoneName = name;
    if (UTC_NAMES.has(name.toLowerCase())) this.#parts.offsetSeconds = 0;
    // GMT+3 means that GMT is three hours later, so the sign is inverted for the next step.
    const sign = this.#tokens[at + 1];
    if (sign !== '+' && sign !== '-') return at;
    this.#tokens[at + 1] = sign === '+' ? '-' : '+';
    delete this.#parts.offsetSeconds;
    if (UTC_NAMES.has(name.toLowerCase())) delete this.#parts.zoneName;
    return at;
  }

  #takeOffset(at: number): number {
    const sign = this.#token(at) === '+' ? 1 : -1;
    const digits = this.#token(at + 1);
    let last = at + 1;
    let minutes = 0;
    if (digits.length === 4) {
      minutes = integer(digits.slice(2));
    } else if (this.#tokens[at + 2] === ':') {
      minutes = integer(this.#token(at + 3));
      last = at + 3;
    } else if (digits.length > 2) {
      throw new NotUnderstood();
    }
    const hours = integer(digits.length === 4 ? digits.slice(0, 2) : digits);
    this.#parts.offsetSeconds = sign * (hours * 3600 + minutes * 60);
    return this.#takeNameOfOffset(last);
  }

  /** ` (BRST)` after an offset. */
  #takeNameOfOffset(last: number): number {
    const [space = '', open, name = '', close] = this.#tokens.slice(last + 1, last + 5);
    const isName = isJump(space) && open === '(' && close === ')' && /^[A-Z]{3,5}$/.test(name);
    if (!isName || this.#parts.zoneName !== undefined) return last;
    this.#parts.zoneName = name;
    return last + 4;
  }

  #takeNumber(at: number): number {
    const token = this.#token(at);
    const { length } = token;
    const next = this.#tokens[at + 1];
    if (this.#isTimeOfDate(token, next)) {
      this.#parts.hour = integer(token.slice(0, 2));
      if (length === 4) this.#parts.minute = integer(token.slice(2));
      return at;
    }
    if (length === 6 || (length > 6 && token.indexOf('.') === 6)) {
      this.#takeSixDigits(token);
      return at;
    }
    if ([8, 12, 14].includes(length)) {
      this.#takeLongDate(token);
      return at;
    }
    const unitAt = this.#unitAt(at);
    if (unitAt !== undefined) {
      // A unit before the number belongs to the previous number: this one has the next smaller
      // unit.
      const unit = (unitOf(this.#token(unitAt)) ?? 0) + (unitAt > at ? 0 : 1);
      this.#setUnit(token, unit);
      return Math.max(unitAt, at);
    }
    if (next === ':' && at + 2 < this.#tokens.length) return this.#takeClock(at);
    if (next === '-' || next === '/' || next === '.') return this.#takeDate(at, next);
    const value = Number(token);
    if (next === undefined || isJump(next)) {
      const pm = isPm(this.#tokens[at + 2]);
      if (pm === undefined) {
        this.#date.addNumber(value);
        return at + 1;
      }
      this.#parts.hour = hourOfHalf(Math.trunc(value), pm);
      return at + 2;
    }
    const pm = isPm(next);
    if (pm !== undefined && value < 24) {
      this.#parts.hour = hourOfHalf(Math.trunc(value), pm);
      return at + 1;
    }
    if (!this.#date.couldBeDay(value)) throw new NotUnderstood();
    this.#date.addNumber(value);
    return at;
  }

  /** `T23` and `T2359` after a whole date. */
  #isTimeOfDate(token: string, next: string | undefined): boolean {
    if (this.#date.size !== 3 || (token.length !== 2 && token.length !== 4)) return false;
    if (this.#parts.hour !== undefined) return false;
    return next === undefined || (next !== ':' && unitOf(next) === undefined);
  }

  #takeSixDigits(token: string): void {
    const pairs = [token.slice(0, 2), token.slice(2, 4), token.slice(4)] as const;
    if (this.#date.size === 0 && !token.includes('.')) {
      for (const pair of pairs) this.#date.addText(pair);
      return;
    }
    const [hour, minute, second] = pairs;
    this.#parts.hour = integer(hour);
    this.#parts.minute = integer(minute);
    this.#setSeconds(second);
  }

  #takeLongDate(token: string): void {
    this.#date.addText(token.slice(0, 4), 'year');
    this.#date.addText(token.slice(4, 6));
    this.#date.addText(token.slice(6, 8));
    if (token.length === 8) return;
    this.#parts.hour = integer(token.slice(8, 10));
    this.#parts.minute = integer(token.slice(10, 12));
    if (token.length > 12) this.#parts.second = integer(token.slice(12));
  }

  /** Index of the unit of a number: `12h`, `12 h`, `h12`. */
  #unitAt(at: number): number | undefined {
    const isUnit = (where: number): boolean => unitOf(this.#tokens[where]) !== undefined;
    const last = this.#tokens.length - 1;
    if (isUnit(at + 1)) return at + 1;
    if (this.#tokens[at + 1] === ' ' && isUnit(at + 2)) return at + 2;
    if (at > 0 && isUnit(at - 1)) return at - 1;
    if (at > 1 && at === last && this.#tokens[at - 1] === ' ' && isUnit(at - 2)) return at - 2;
    return undefined;
  }

  #setUnit(token: string, unit: number): void {
    if (unit === 0) {
      const [hour, minute] = withSixtieths(token);
      this.#parts.hour = hour;
      if (minute !== undefined) this.#parts.minute = minute;
    } else if (unit === 1) {
      this.#setMinutes(token);
    } else if (unit === 2) {
      this.#setSeconds(token);
    }
  }

  #setMinutes(token: string): void {
    const [minute, second] = withSixtieths(token);
    this.#parts.minute = minute;
    if (second === undefined) delete this.#parts.second;
    else this.#parts.second = second;
  }

  #setSeconds(token: string): void {
    const [whole = '', fraction] = token.split('.');
    this.#parts.second = integer(whole);
    this.#parts.microsecond =
      fraction === undefined ? 0 : integer(fraction.padEnd(6, '0').slice(0, 6));
  }

  #takeClock(at: number): number {
    this.#parts.hour = Math.trunc(Number(this.#token(at)));
    const minutes = this.#token(at + 2);
    if (!/^\d/.test(minutes)) throw new NotUnderstood();
    this.#setMinutes(minutes);
    if (this.#tokens[at + 3] !== ':' || at + 4 >= this.#tokens.length) return at + 2;
    this.#setSeconds(this.#token(at + 4));
    return at + 4;
  }

  #takeDate(at: number, sign: string): number {
    this.#date.addText(this.#token(at));
    const second = this.#tokens[at + 2];
    if (second === undefined || isJump(second)) return at + 1;
    if (/^\d+$/.test(second)) this.#date.addText(second);
    else this.#addMonth(second);
    if (this.#tokens[at + 3] !== sign) return at + 2;
    const third = this.#token(at + 4);
    if (monthOf(third) === undefined) this.#date.addText(third);
    else this.#addMonth(third);
    return at + 4;
  }

  #addMonth(word: string): void {
    const month = monthOf(word);
    if (month === undefined) throw new NotUnderstood();
    this.#date.addNumber(month, 'month');
  }
}

function integer(digits: string): number {
  if (!/^\d+$/.test(digits)) throw new NotUnderstood();
  return Number(digits);
}

/** A number and sixty times its fraction, as integers; undefined without a fraction. */
function withSixtieths(token: string): readonly [number, number | undefined] {
  const [whole = '', fraction = ''] = token.split('.');
  const isZero = /^0*$/.test(fraction);
  const sixtieths = isZero
    ? undefined
    : Number((BigInt(fraction) * 60n) / 10n ** BigInt(fraction.length));
  return [integer(whole), sixtieths];
}

function isJump(token: string): boolean {
  return JUMPS.has(token.toLowerCase());
}

function unitOf(token: string | undefined): number | undefined {
  const word = token?.toLowerCase() ?? '';
  const unit = UNITS.findIndex((names) => names.includes(word));
  return unit < 0 ? undefined : unit;
}

function isPm(token: string | undefined): boolean | undefined {
  const word = token?.toLowerCase() ?? '';
  return ['am', 'a', 'pm', 'p'].includes(word) ? word.startsWith('p') : undefined;
}

function hourOfHalf(hour: number, pm: boolean): number {
  if (pm) return hour < 12 ? hour + 12 : hour;
  return hour === 12 ? 0 : hour;
}

function monthOf(token: string): number | undefined {
  const at = token.toLowerCase() === 'sept' ? 8 : nameIndex(MONTHS, token);
  return at === undefined ? undefined : at + 1;
}

/** Matches a whole name, or its first three letters. */
function nameIndex(names: readonly string[], token: string): number | undefined {
  const word = token.toLowerCase();
  const at = names.findIndex((name) => word === name || word === name.slice(0, 3));
  return at < 0 ? undefined : at;
}

/** Puts a two-digit year into the hundred years around this one (dateutil: convertyear). */
function withCentury(year: number, thisYear: number): number {
  if (year >= 100) return year;
  const near = Math.floor(thisYear / 100) * 100 + year;
  if (near >= thisYear + 50) return near - 100;
  return near < thisYear - 50 ? near + 100 : near;
}

function settleZone(parts: DateParts): void {
  const { zoneName, offsetSeconds } = parts;
  if ((offsetSeconds === 0 && zoneName === undefined) || /^[Zz]$/.test(zoneName ?? '')) {
    parts.zoneName = 'UTC';
    parts.offsetSeconds = 0;
  } else if (offsetSeconds !== 0 && UTC_NAMES.has(zoneName?.toLowerCase() ?? '')) {
    parts.offsetSeconds = 0;
  }
}
