import { pyLength, splitLines, strip } from '@brine/wire/text';
import { bind, wholeNumber } from '../arguments.ts';
import type { Filter } from '../environment.ts';
import { JinjaError, typeError, valueError } from '../errors.ts';
import { bounded, joinBounded, MAX_DIGITS, MAX_LENGTH, MAX_POWER_DIGITS } from '../limits.ts';
import { calculate } from '../python/operators.ts';
import { escapeHtml, stripTags } from '../python/quoting.ts';
import { round } from '../python/rounding.ts';
import { capitalized, replaceText, STR_METHODS } from '../python/str-methods.ts';
import { repr, str } from '../python/text.ts';
import {
  type CallArguments,
  floatValue,
  intValue,
  isDict,
  isInt,
  iterate,
  numberOf,
  truth,
  tupleOf,
  typeName,
  Undefined,
} from '../python/values.ts';
import { pairsOf } from './data-filters.ts';

/** Jinja's own filters for texts and numbers (Jinja: jinja2/filters.py). */
export const TEXT_FILTERS: ReadonlyMap<string, Filter> = new Map<string, Filter>([
  ['abs', (value) => absolute(value)],
  ['capitalize', (value) => capitalized(str(value))],
  ['center', (value, args) => center(str(value), args)],
  ['d', (value, args) => standard(value, args)],
  ['default', (value, args) => standard(value, args)],
  ['e', (value) => escapeHtml(str(value))],
  ['escape', (value) => escapeHtml(str(value))],
  ['filesizeformat', (value, args) => fileSize(value, args)],
  ['float', (value, args) => toFloat(value, args)],
  ['forceescape', (value) => escapeHtml(str(value))],
  ['format', (value, { positional, named }) => percent(value, positional, named)],
  ['indent', (value, args) => indent(str(value), args)],
  ['int', (value, args) => toInt(value, args)],
  ['lower', (value) => str(value).toLowerCase()],
  ['replace', (value, args) => replace(str(value), args)],
  ['round', (value, args) => round(value, args)],
  ['safe', (value) => str(value)],
  ['string', (value) => str(value)],
  ['striptags', (value) => stripTags(str(value))],
  ['title', (value) => title(str(value))],
  ['trim', (value, args) => call('strip', str(value), args)],
  ['truncate', (value, args) => truncate(str(value), args)],
  ['upper', (value) => str(value).toUpperCase()],
  ['urlencode', (value) => urlEncode(value)],
  ['wordcount', (value) => (str(value).match(/[\p{L}\p{N}_]+/gu) ?? []).length],
  ['wordwrap', (value, args) => wordWrap(str(value), args)],
  ['xmlattr', (value, args) => xmlAttributes(value, args)],
]);

function call(method: string, text: string, args: CallArguments): unknown {
  return STR_METHODS.get(method)?.(text, args);
}

function absolute(value: unknown): unknown {
  const number = numberOf(value);
  if (number === undefined) throw typeError(`bad operand type for abs(): '${typeName(value)}'`);
  return number < 0 ? calculate('-', 0, value) : calculate('+', 0, value);
}

function center(text: string, args: CallArguments): unknown {
  const width = bind('center', ['width'], args, { width: 80 }).get('width');
  return call('center', text, { positional: [width], named: new Map() });
}

function standard(value: unknown, args: CallArguments): unknown {
  const bound = bind('default', ['default_value', 'boolean'], args, {
    default_value: '',
    boolean: false,
  });
  const missing = value instanceof Undefined || (truth(bound.get('boolean')) && !truth(value));
  return missing ? bound.get('default_value') : value;
}

function fileSize(value: unknown, args: CallArguments): string {
  const binary = truth(args.positional[0] ?? args.named.get('binary') ?? false);
  if (value instanceof Undefined) throw value.error();
  const bytes = toFloatValue(value);
  if (bytes === undefined) {
    throw valueError(`could not convert string to float: ${repr(value)}`);
  }
  const base = binary ? 1024 : 1000;
  const units = [...'kMGTPEZY'].map((u) => (binary ? `${u.toUpperCase()}iB` : `${u}B`));
  if (bytes === 1) return '1 Byte';
  if (bytes < base) return `${Math.trunc(bytes)} Bytes`;
  let power = 1;
  while (power < units.length && bytes >= base ** (power + 1)) power += 1;
  return `${(bytes / base ** power).toFixed(1)} ${units[power - 1]}`;
}

/** Python's `float`; undefined for what it refuses. */
export function toFloatValue(value: unknown): number | undefined {
  const number = numberOf(value);
  if (number !== undefined) return Number(number);
  if (typeof value !== 'string') return undefined;
  const text = strip(value).replaceAll(/(?<=\d)_(?=\d)/g, '');
  if (/^[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?$/.test(text)) return Number(text);
  const special = /^([-+]?)(inf|infinity|nan)$/i.exec(text);
  if (special === null) return undefined;
  if (/^nan$/i.test(special[2] ?? '')) return Number.NaN;
  return special[1] === '-' ? -Infinity : Infinity;
}

function toFloat(value: unknown, args: CallArguments): unknown {
  if (value instanceof Undefined) throw value.error();
  const bound = bind('float', ['default'], args, { default: floatValue(0) });
  const number = toFloatValue(value);
  return number === undefined ? bound.get('default') : floatValue(number);
}

function toInt(value: unknown, args: CallArguments): unknown {
  if (value instanceof Undefined) throw value.error();
  const bound = bind('int', ['default', 'base'], args, { default: 0, base: 10 });
  if (typeof value === 'string') {
    const whole = wholeText(strip(value), wholeNumber(bound.get('base')));
    if (whole !== undefined) return intValue(whole);
  } else if (isInt(value) || typeof value === 'boolean') return intValue(BigInt(value));
  const number = toFloatValue(value);
  if (number === undefined || !Number.isFinite(number)) return bound.get('default');
  return intValue(BigInt(Math.trunc(number)));
}

/** Python's `int(text, base)`; undefined for what it refuses. */
export function wholeText(text: string, base: number): bigint | undefined {
  const [, sign = '', prefix = '', digits = ''] =
    /^([-+]?)(0[xX]|0[oO]|0[bB])?([\da-zA-Z_]+)$/.exec(text) ?? [];
  const wanted = { '0x': 16, '0o': 8, '0b': 2 }[prefix.toLowerCase()];
  const radix = base === 0 ? (wanted ?? 10) : base;
  if ((prefix !== '' && wanted !== radix) || !/^[\da-z]+(?:_[\da-z]+)*$/i.test(digits)) {
    return undefined;
  }
  const isPower = (radix & (radix - 1)) === 0;
  if (!isPower && digits.length > MAX_DIGITS) return undefined;
  if (digits.length > MAX_POWER_DIGITS) throw new JinjaError('Limit', 'the number is too long');
  let total = 0n;
  for (const digit of digits.replaceAll('_', '')) {
    const value = Number.parseInt(digit, 36);
    if (value >= radix) return undefined;
    total = total * BigInt(radix) + BigInt(value);
  }
  return sign === '-' ? -total : total;
}

function percent(
  value: unknown,
  positional: readonly unknown[],
  named: ReadonlyMap<string, unknown>,
): unknown {
  if (positional.length > 0 && named.size > 0) {
    const text = "can't handle positional and keyword arguments at the same time";
    throw new JinjaError('Runtime', text);
  }
  return calculate('%', str(value), named.size > 0 ? new Map(named) : tupleOf(positional));
}

function indent(text: string, args: CallArguments): string {
  const bound = bind('indent', ['width', 'first', 'blank'], args, {
    width: 4,
    first: false,
    blank: false,
  });
  const width = bound.get('width');
  const pad =
    typeof width === 'string'
      ? width
      : bounded(wholeNumber(width), () => ' '.repeat(Math.max(0, wholeNumber(width))));
  const blank = truth(bound.get('blank'));
  const lines = splitLines(`${text}\n`);
  bounded(lines.length * pad.length, () => lines);
  const shown = lines.map((line, at) => (at > 0 && (blank || line !== '') ? pad + line : line));
  return (truth(bound.get('first')) ? pad : '') + joinBounded(shown, '\n');
}

function replace(text: string, args: CallArguments): string {
  const bound = bind('replace', ['old', 'new', 'count'], args, { count: null });
  const count = bound.get('count');
  const times = count == null ? -1 : wholeNumber(count);
  return replaceText(text, str(bound.get('old')), str(bound.get('new')), times);
}

function title(text: string): string {
  return text
    .split(/([-\s([{<]+)/u)
    .map(capitalized)
    .join('');
}

function truncate(text: string, args: CallArguments): string {
  const bound = bind('truncate', ['length', 'killwords', 'end', 'leeway'], args, {
    length: 255,
    killwords: false,
    end: '...',
    leeway: 5,
  });
  const length = wholeNumber(bound.get('length'));
  const end = str(bound.get('end'));
  const leeway = bound.get('leeway') == null ? 5 : wholeNumber(bound.get('leeway'));
  if (length < pyLength(end)) {
    throw new JinjaError('Raised', `expected length >= ${pyLength(end)}, got ${length}`);
  }
  if (pyLength(text) <= length + leeway) return text;
  const cut = [...text].slice(0, length - pyLength(end)).join('');
  if (truth(bound.get('killwords'))) return cut + end;
  const space = cut.lastIndexOf(' ');
  return (space === -1 ? cut : cut.slice(0, space)) + end;
}

function urlEncode(value: unknown): string {
  const quoted = (part: unknown, plus: boolean): string => {
    const text = encodeURIComponent(str(part)).replaceAll(
      /[!'()*]/g,
      (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
    );
    return plus ? text.replaceAll('%20', '+') : text.replaceAll('%2F', '/');
  };
  if (typeof value === 'string' || value === null || numberOf(value) !== undefined) {
    return quoted(value, false);
  }
  return pairsOf(value)
    .map((pair) =>
      iterate(pair)
        .map((part) => quoted(part, true))
        .join('='),
    )
    .join('&');
}

function wordWrap(text: string, args: CallArguments): string {
  const names = ['width', 'break_long_words', 'wrapstring', 'break_on_hyphens'];
  const bound = bind('wordwrap', names, args, {
    width: 79,
    break_long_words: true,
    wrapstring: null,
    break_on_hyphens: true,
  });
  const width = wholeNumber(bound.get('width'));
  if (width <= 0) throw valueError(`invalid width ${width} (must be > 0)`);
  const newline = bound.get('wrapstring') == null ? '\n' : str(bound.get('wrapstring'));
  if (text.length > MAX_LENGTH) throw new JinjaError('Limit', 'the text is too long');
  const wrapped = splitLines(text).map((line) => {
    const lines: string[] = [];
    let current = '';
    for (const piece of line.match(/\s+|[^\s-]+-*|-+/g) ?? []) {
      let rest = piece;
      if (current !== '' && (current + rest).length > width) {
        lines.push(current.trimEnd());
        current = '';
        if (rest.trim() === '') continue;
      }
      while (truth(bound.get('break_long_words')) && rest.length > width) {
        lines.push(rest.slice(0, width));
        rest = rest.slice(width);
      }
      current += rest;
    }
    if (current.trim() !== '' || lines.length === 0) lines.push(current.trimEnd());
    return lines.join(newline);
  });
  return wrapped.join(newline);
}

function xmlAttributes(value: unknown, args: CallArguments): string {
  const space = bind('xmlattr', ['autospace'], args, { autospace: true }).get('autospace');
  if (!isDict(value)) throw typeError(`'${typeName(value)}' object has no attribute 'items'`);
  const parts = [...value].filter(([, item]) => item !== null && !(item instanceof Undefined));
  for (const [key] of parts) {
    if (!/[\s/>=]/.test(str(key))) continue;
    throw valueError(`Invalid character in attribute name: ${repr(key)}`);
  }
  const text = parts.map(([key, item]) => `${escapeHtml(str(key))}="${escapeHtml(str(item))}"`);
  return text.length > 0 && truth(space) ? ` ${text.join(' ')}` : text.join(' ');
}
