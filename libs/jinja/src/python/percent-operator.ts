import {
  type PercentField,
  percentFields,
  type PercentForm,
  percentNumber,
  percentText,
  pyLength,
} from '@brine/wire/text';
import { JinjaError, typeError, valueError } from '../errors.ts';
import { bounded } from '../limits.ts';
import { repr, str } from './text.ts';
import { isDict, isFloat, isInt, keyIn, numberOf, Tuple, typeName } from './values.ts';

const KINDS = 'diouxXeEfFgGcrsa';
const WIDTH_MAX = 10_000;

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
  const write = (field: PercentField): string => {
    const { name, flags, width, precision, kind } = field;
    if (kind === undefined) throw valueError('incomplete format');
    if (kind === '%') return '%';
    const size = width === '*' ? count() : Number(width ?? 0);
    const digits = precision === '*' ? count() : precision;
    let item: unknown;
    if (name === undefined) item = next();
    else {
      named = true;
      if (!isDict(value)) throw typeError('format requires a mapping');
      item = value.get(keyIn(value, name));
      if (item === undefined) throw new JinjaError('KeyError', repr(name));
    }
    if (!KINDS.includes(kind)) {
      const code = `0x${kind.charCodeAt(0).toString(16)}`;
      throw valueError(`unsupported format character '${kind}' (${code}) at index ${field.at}`);
    }
    const precise = digits === undefined ? undefined : Number(digits);
    const form = { flags, width: Math.min(size, WIDTH_MAX), precision: precise, kind };
    return convert(item, form);
  };
  const parts: string[] = [];
  let length = 0;
  for (const part of percentFields(format)) {
    const text = typeof part === 'string' ? part : write(part);
    length += text.length;
    bounded(length, () => parts.push(text));
  }
  const left = used < values.length && !named && !(isDict(value) || Array.isArray(value));
  if (left || (value instanceof Tuple && used < values.length)) {
    throw typeError('not all arguments converted during string formatting');
  }
  return parts.join('');
}

function convert(item: unknown, form: PercentForm): string {
  const { kind } = form;
  if (kind === 's') return percentText(str(item), form);
  if (kind === 'r' || kind === 'a') return percentText(repr(item), form);
  if (kind === 'c') return percentText(character(item), { ...form, precision: undefined });
  const number = numberOf(item);
  if (number === undefined || ('xXo'.includes(kind) && isFloat(item))) {
    const real = 'diu'.includes(kind);
    const wanted = real ? 'a real number is required' : 'an integer is required';
    if ('eEfFgG'.includes(kind)) throw typeError(`must be real number, not ${typeName(item)}`);
    throw typeError(`%${kind} format: ${wanted}, not ${typeName(item)}`);
  }
  return percentNumber(number, form);
}

function character(item: unknown): string {
  if (typeof item === 'string' && pyLength(item) === 1) return item;
  if (isInt(item)) return String.fromCodePoint(Number(item));
  throw typeError('%c requires int or char');
}
