import { pyLength } from '@brine/wire';
import { JinjaError, valueError } from './errors.ts';
import { replaceEach } from './limits.ts';
import { formatNumber } from './number-format.ts';
import { repr, str } from './text.ts';
import { isFloat, keyOf, numberOf, type CallArguments } from './values.ts';

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
    if (conversion === 'r' || conversion === 'a') return formatValue(repr(value), inner);
    return formatValue(conversion === 's' ? str(value) : value, inner);
  });
}

/** Python's `format(value, spec)`. @throws JinjaError (ValueError) */
export function formatValue(value: unknown, spec: string): string {
  if (spec === '') return str(value);
  const parts = SPEC.exec(spec);
  if (parts === null) throw valueError(`Invalid format specifier '${spec}'`);
  const [, fill, align, sign = '-', alternate, zero, width, comma, precision, kind] = parts;
  const number = typeof value === 'boolean' && kind === undefined ? undefined : numberOf(value);
  const digits = precision === undefined ? undefined : Number(precision);
  let text: string;
  if (number === undefined) {
    const whole = str(value);
    text = digits === undefined ? whole : [...whole].slice(0, digits).join('');
  } else text = signed(numberText(value, number, kind, digits, alternate !== undefined), sign);
  if (comma !== undefined) text = grouped(text, comma);
  const wide = Math.min(Number(width ?? 0), MAX_WIDTH);
  const how = align ?? (zero === undefined ? (number === undefined ? '<' : '>') : '=');
  return aligned(text, wide, how, fill ?? (zero === undefined ? ' ' : '0'));
}

function numberText(
  value: unknown,
  number: number | bigint,
  kind: string | undefined,
  digits: number | undefined,
  alternate: boolean,
): string {
  if (kind !== undefined) {
    if ('dboxXc'.includes(kind) && isFloat(value)) {
      throw valueError(`Unknown format code '${kind}' for object of type 'float'`);
    }
    return formatNumber(number, kind, digits, alternate);
  }
  if (digits === undefined) return str(value);
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
