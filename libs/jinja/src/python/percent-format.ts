import { pyLength } from '@brine/wire/text';
import { JinjaError, typeError, valueError } from '../errors.ts';
import { replaceEach } from '../limits.ts';
import { formatNumber } from './number-format.ts';
import { repr, str } from './text.ts';
import { isDict, isFloat, isInt, keyOf, numberOf, Tuple, typeName } from './values.ts';

const KINDS = 'diouxXeEfFgGcrsa';
const DIRECTIVE = /%(?:\(([^)]*)\))?([-+ #0]*)(\*|\d+)?(?:\.(\*|\d+))?[hlL]?([^])?/g;

/** Python's `'…' % value`. @throws JinjaError */
export function formatPercent(format: string, value: unknown): string {
  const values = value instanceof Tuple ? [...value] : [value];
  let used = 0;
  let named = false;
  const next = (): unknown => {
    if (used >= values.length) throw typeError('not enough arguments for format string');
    used += 1;
    return values[used - 1];
  };
  const count = (): number => {
    const given = next();
    if (isInt(given)) return Number(given);
    throw typeError('* wants int');
  };
  const text = replaceEach(format, DIRECTIVE, (match) => {
    const [whole, name, flags = '', width, precision, kind] = match;
    if (kind === undefined) throw valueError('incomplete format');
    if (kind === '%') return '%';
    const size = width === '*' ? count() : Number(width ?? 0);
    const digits = precision === '*' ? count() : precision;
    let item: unknown;
    if (name === undefined) item = next();
    else {
      named = true;
      if (!isDict(value)) throw typeError('format requires a mapping');
      item = value.get(keyOf(name));
      if (item === undefined) throw new JinjaError('KeyError', repr(name));
    }
    const precise = digits === undefined ? undefined : Number(digits);
    if (!KINDS.includes(kind)) {
      const at = match.index + whole.length - 1;
      const code = `0x${kind.charCodeAt(0).toString(16)}`;
      throw valueError(`unsupported format character '${kind}' (${code}) at index ${at}`);
    }
    return padded(convert(item, kind, flags, precise), flags, Math.min(size, 10_000), kind);
  });
  const left = used < values.length && !named && !(isDict(value) || Array.isArray(value));
  if (left || (value instanceof Tuple && used < values.length)) {
    throw typeError('not all arguments converted during string formatting');
  }
  return text;
}

function convert(
  item: unknown,
  kind: string,
  flags: string,
  precision: number | undefined,
): string {
  if (kind === 's') return str(item).slice(0, precision);
  if (kind === 'r' || kind === 'a') return repr(item).slice(0, precision);
  if (kind === 'c') return character(item);
  const number = numberOf(item);
  if (number === undefined || ('xXo'.includes(kind) && isFloat(item))) {
    const real = 'diu'.includes(kind);
    const wanted = real ? 'a real number is required' : 'an integer is required';
    if ('eEfFgG'.includes(kind)) throw typeError(`must be real number, not ${typeName(item)}`);
    throw typeError(`%${kind} format: ${wanted}, not ${typeName(item)}`);
  }
  const digits = formatNumber(
    number,
    'diu'.includes(kind) ? 'd' : kind,
    precision,
    flags.includes('#'),
  );
  const shown = 'diuxXo'.includes(kind) ? atLeast(digits, precision ?? 0) : digits;
  if (shown.startsWith('-')) return shown;
  if (flags.includes('+')) return `+${shown}`;
  return flags.includes(' ') ? ` ${shown}` : shown;
}

function character(item: unknown): string {
  if (typeof item === 'string' && pyLength(item) === 1) return item;
  if (isInt(item)) return String.fromCodePoint(Number(item));
  throw typeError('%c requires int or char');
}

/** The precision of an integer is the least number of its digits. */
function atLeast(text: string, count: number): string {
  const [, head = '', digits = ''] = /^(-?(?:0[xXo])?)(.*)$/.exec(text) ?? [];
  return head + digits.padStart(Math.min(count, 10_000), '0');
}

function padded(text: string, flags: string, width: number, kind: string): string {
  if (flags.includes('-')) return text.padEnd(width);
  if (!flags.includes('0') || 'src'.includes(kind)) return text.padStart(width);
  const sign = /^[-+ ]/.test(text) ? text.charAt(0) : '';
  return sign + text.slice(sign.length).padStart(width - sign.length, '0');
}
