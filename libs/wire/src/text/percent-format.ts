import { formatNumber } from './number-format.ts';
import { pyLength } from './python-text.ts';

/** A field of a format of Python's `%` operator, as `%(levelname)-8s`. */
export interface PercentField {
  /** The key in the mapping; undefined if the field takes the next value. */
  readonly name: string | undefined;
  readonly flags: string;
  /** Digits, or `*` if the next value is the width. */
  readonly width: string | undefined;
  /** Digits, or `*` if the next value is the precision. */
  readonly precision: string | undefined;
  /** The letter of the conversion, or `%`; undefined if the format ends before it. */
  readonly kind: string | undefined;
  /** The offset of that letter in the format. */
  readonly at: number;
}

/** The form of a value, with width and precision as numbers. */
export interface PercentForm {
  readonly flags: string;
  readonly width: number;
  readonly precision: number | undefined;
  readonly kind: string;
}

// Python Library Reference, "printf-style String Formatting". Length modifiers have no effect.
const FIELD = /%(?:\(([^)]*)\))?([-+ #0]*)(\*|\d+)?(?:\.(\*|\d+))?[hlL]?([^])?/g;

/** Conversions that write an integer. */
const INTEGERS = 'diuxXo';
const DIGITS_MAX = 10_000;

/** The literal texts and the fields of a format, in order. */
export function* percentFields(format: string): Generator<string | PercentField> {
  let end = 0;
  for (const match of format.matchAll(FIELD)) {
    if (match.index > end) yield format.slice(end, match.index);
    end = match.index + match[0].length;
    const [, name, flags = '', width, precision, kind] = match;
    yield { name, flags, width, precision, kind, at: end - 1 };
  }
  if (end < format.length) yield format.slice(end);
}

/** Writes a text: `%-17s`, `%.3s`. */
export function percentText(text: string, form: PercentForm): string {
  const { flags, width, precision } = form;
  const short = precision !== undefined && precision < text.length;
  const cut = short ? [...text].slice(0, precision).join('') : text;
  // Python counts characters, where JavaScript counts some of them twice.
  const size = width + cut.length - pyLength(cut);
  return flags.includes('-') ? cut.padEnd(size) : cut.padStart(size);
}

/** Writes a number: `%05d`, `%+.2f`, `%#x`. */
export function percentNumber(value: number | bigint, form: PercentForm): string {
  const { flags, width, precision, kind } = form;
  const letter = 'diu'.includes(kind) ? 'd' : kind;
  const digits = formatNumber(value, letter, precision, flags.includes('#'));
  const shown = signed(INTEGERS.includes(kind) ? atLeast(digits, precision ?? 0) : digits, flags);
  if (flags.includes('-')) return shown.padEnd(width);
  if (!flags.includes('0')) return shown.padStart(width);
  const [head] = /^[-+ ]?(?:0[xXo](?=.))?/.exec(shown) ?? [''];
  return head + shown.slice(head.length).padStart(width - head.length, '0');
}

function signed(digits: string, flags: string): string {
  if (digits.startsWith('-')) return digits;
  if (flags.includes('+')) return `+${digits}`;
  return flags.includes(' ') ? ` ${digits}` : digits;
}

/** The precision of an integer is the least number of its digits. */
function atLeast(text: string, count: number): string {
  const [, head = '', digits = ''] = /^(-?(?:0[xXo])?)(.*)$/.exec(text) ?? [];
  return head + digits.padStart(Math.min(count, DIGITS_MAX), '0');
}
