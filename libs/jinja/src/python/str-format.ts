import { formatNumber, pyLength } from '@brine/wire/text';
import { JinjaError, typeError, valueError } from '../errors.ts';
import { replaceEach } from '../limits.ts';
import { repr, str } from './text.ts';
import { type CallArguments, isFloat, keyOf, numberOf, typeName } from './values.ts';

const FIELD = /\{\{|\}\}|\{([^{}!:]*)(?:!([rsa]))?(?::((?:[^{}]|\{[^{}]*\})*))?\}|[{}]/g;
const SPEC = /^(?:([^])?([<>=^]))?([-+ ])?(#)?(0)?(\d+)?([,_])?(?:\.(\d+))?([a-zA-Z%])?$/;
const MAX_WIDTH = 100_000;

/** How fields such as `{0.name[key]}` reach into values. */
export interface Reach {
  attribute(value: unknown, name: string): unknown;
  item(value: unknown, key: unknown): unknown;
}

/** Python's `str.format`. @throws JinjaError */
export function formatText(format: string, args: CallArguments, reach: Reach): string {
  let automatic = 0;
  const lookUp = (path: string): unknown => {
    const [, head = '', tail = ''] = /^([^.[]*)(.*)$/s.exec(path) ?? [];
    let value: unknown;
    if (head === '' || /^\d+$/.test(head)) {
      const index = head === '' ? automatic++ : Number(head);
      if (index >= args.positional.length) {
        const text = `Replacement index ${index} out of range for positional args tuple`;
        throw new JinjaError('IndexError', text);
      }
      value = args.positional[index];
    } else {
      if (!args.named.has(head)) throw new JinjaError('KeyError', repr(head));
      value = args.named.get(head);
    }
    for (const [, attribute, item] of tail.matchAll(/\.(\w+)|\[([^\]]*)\]/g)) {
      if (attribute !== undefined) value = reach.attribute(value, attribute);
      else value = reach.item(value, /^\d+$/.test(item ?? '') ? Number(item) : keyOf(item));
    }
    return value;
  };
  return replaceEach(format, FIELD, ([whole, path, conversion, given]) => {
    if (whole === '{{') return '{';
    if (whole === '}}') return '}';
    if (path === undefined) {
      const side = whole === '{' ? "'{'" : "'}'";
      throw valueError(`Single ${side} encountered in format string`);
    }
    const value = lookUp(path);
    const spec = given ?? '';
    const inner = spec.replaceAll(/\{([^{}]*)\}/g, (_: string, name: string) => str(lookUp(name)));
    if (conversion === 'a') return formatValue(asciiOnly(repr(value)), inner);
    if (conversion === 'r') return formatValue(repr(value), inner);
    return formatValue(conversion === 's' ? str(value) : value, inner);
  });
}

/** Python's `ascii`. */
function asciiOnly(text: string): string {
  return text.replaceAll(/[^\0-\x7f]/gu, (character) => {
    const code = character.codePointAt(0) ?? 0;
    const [sign, width] = code < 0x100 ? ['x', 2] : code < 0x1_0000 ? ['u', 4] : ['U', 8];
    return `\\${sign}${code.toString(16).padStart(width, '0')}`;
  });
}

/** Python's `format(value, spec)`. @throws JinjaError (ValueError) */
export function formatValue(value: unknown, spec: string): string {
  if (spec === '') return str(value);
  const parts = SPEC.exec(spec);
  if (parts === null) throw valueError(`Invalid format specifier '${spec}'`);
  const [, fill, align, sign = '-', alternate, zero, width, comma, precision, kind] = parts;
  const number = numberOf(value);
  checkKind(value, kind);
  const digits = precision === undefined ? undefined : Number(precision);
  let text: string;
  if (number === undefined) {
    const whole = str(value);
    text = digits === undefined ? whole : [...whole].slice(0, digits).join('');
  } else text = signed(numberText(value, number, kind, digits, alternate !== undefined), sign);
  if (comma !== undefined) text = grouped(text, comma);
  const wide = Math.min(Number(width ?? 0), MAX_WIDTH);
  // Leading zeros are grouped too: Python counts the commas to the width.
  if (comma !== undefined && zero !== undefined && align === undefined) {
    return zeroGrouped(text, wide, comma);
  }
  const how = align ?? (zero === undefined ? (number === undefined ? '<' : '>') : '=');
  return aligned(text, wide, how, fill ?? (zero === undefined ? ' ' : '0'));
}

/** @throws JinjaError for a value that has no such form */
function checkKind(value: unknown, kind: string | undefined): void {
  const type = typeName(value);
  const isNumber = numberOf(value) !== undefined;
  if (typeof value !== 'string' && !isNumber) {
    throw typeError(`unsupported format string passed to ${type}.__format__`);
  }
  const kinds = isFloat(value) ? 'eEfFgGn%' : isNumber ? 'bcdoxXneEfFgG%' : 's';
  if (kind === undefined || kinds.includes(kind)) return;
  throw valueError(`Unknown format code '${kind}' for object of type '${type}'`);
}

function numberText(
  value: unknown,
  number: number | bigint,
  kind: string | undefined,
  digits: number | undefined,
  alternate: boolean,
): string {
  if (kind !== undefined) return formatNumber(number, kind, digits, alternate);
  if (digits === undefined) return str(typeof value === 'boolean' ? number : value);
  return formatNumber(number, 'g', digits, alternate);
}

function signed(text: string, sign: string): string {
  return sign === '-' || text.startsWith('-') ? text : sign + text;
}

function grouped(text: string, comma: string): string {
  return text.replace(/^([-+ ]?)(\d+)/, (_, sign: string, digits: string) => {
    const first = digits.length % 3;
    const threes = digits.slice(first).match(/\d{3}/g) ?? [];
    return sign + (first > 0 ? [digits.slice(0, first), ...threes] : threes).join(comma);
  });
}

function zeroGrouped(text: string, width: number, comma: string): string {
  const [, sign = '', digits = '', rest = ''] = /^([-+ ]?)([\d,_]+)(.*)$/s.exec(text) ?? [];
  let plain = digits.replaceAll(/[,_]/g, '');
  let shown = digits;
  while (sign.length + shown.length + rest.length < width) {
    plain = `0${plain}`;
    shown = grouped(plain, comma);
  }
  return sign + shown + rest;
}

function aligned(text: string, width: number, how: string, fill: string): string {
  const missing = width - pyLength(text);
  if (missing <= 0) return text;
  if (how === '<') return text + fill.repeat(missing);
  if (how === '>') return fill.repeat(missing) + text;
  if (how === '^') {
    const before = Math.floor(missing / 2);
    return fill.repeat(before) + text + fill.repeat(missing - before);
  }
  const sign = /^[-+ ]/.test(text) ? text.charAt(0) : '';
  return sign + fill.repeat(missing) + text.slice(sign.length);
}
