import type { SaltFloat } from '@brine/wire';
import { compareText } from '@brine/wire/text';
import { JinjaError, typeError } from '../errors.ts';
import { bounded } from '../limits.ts';
import { equal, has, ValueIndex } from './equality.ts';
import { formatPercent } from './percent-operator.ts';
import {
  floatValue,
  intValue,
  isFloat,
  keyIn,
  numberOf,
  PySet,
  Tuple,
  tupleOf,
  typeName,
  Undefined,
} from './values.ts';

const MAX_BITS = 65_536n;

/** Python's binary operators. @throws JinjaError */
export function calculate(op: string, a: unknown, b: unknown): unknown {
  for (const side of [a, b]) if (side instanceof Undefined) throw side.error();
  if (op === '+' && (typeof a === 'string' || Array.isArray(a))) return joined(a, b);
  if (op === '%' && typeof a === 'string') return formatPercent(a, b);
  if (op === '*') {
    const repeated = repeat(a, b) ?? repeat(b, a);
    if (repeated !== undefined) return repeated;
  }
  if (op === '-' && a instanceof PySet && b instanceof PySet) {
    const others = new ValueIndex(b.items);
    return new PySet(a.items.filter((item) => !others.has(item)));
  }
  const left = numberOf(a);
  const right = numberOf(b);
  if (left === undefined || right === undefined) {
    const shown = op === '**' ? '** or pow()' : op;
    throw typeError(
      `unsupported operand type(s) for ${shown}: '${typeName(a)}' and '${typeName(b)}'`,
    );
  }
  if (isFloat(a) || isFloat(b)) return floatMath(op, Number(left), Number(right));
  return intMath(op, BigInt(left), BigInt(right));
}

function joined(a: string | unknown[], b: unknown): unknown {
  if (typeof a === 'string') {
    if (typeof b === 'string') return bounded(a.length + b.length, () => a + b);
    throw typeError(`can only concatenate str (not "${typeName(b)}") to str`);
  }
  const tuple = a instanceof Tuple;
  if (!Array.isArray(b) || b instanceof Tuple !== tuple) {
    const kind = tuple ? 'tuple' : 'list';
    throw typeError(`can only concatenate ${kind} (not "${typeName(b)}") to ${kind}`);
  }
  const both = bounded(a.length + b.length, () => [...a, ...(b as unknown[])]);
  return tuple ? tupleOf(both) : both;
}

function repeat(value: unknown, times: unknown): unknown {
  if (typeof value !== 'string' && !Array.isArray(value)) return undefined;
  const count = isFloat(times) ? Number.NaN : Math.max(0, Number(numberOf(times) ?? Number.NaN));
  if (Number.isNaN(count)) {
    throw typeError(`can't multiply sequence by non-int of type '${typeName(times)}'`);
  }
  return bounded(value.length * count, () => {
    if (typeof value === 'string') return value.repeat(count);
    const list = Array.from({ length: count }, () => value as unknown[]).flat();
    return value instanceof Tuple ? tupleOf(list) : list;
  });
}

function floatMath(op: string, a: number, b: number): number | SaltFloat {
  if ((op === '/' || op === '//' || op === '%') && b === 0) {
    const what = op === '/' ? 'float division' : 'float floor division';
    const text = op === '%' ? 'float modulo' : `${what} by zero`;
    throw new JinjaError('ZeroDivisionError', text);
  }
  switch (op) {
    case '+':
      return floatValue(a + b);
    case '-':
      return floatValue(a - b);
    case '*':
      return floatValue(a * b);
    case '/':
      return floatValue(a / b);
    case '//':
      return floatValue(Math.floor(a / b));
    case '%': {
      const rest = a % b;
      return floatValue(rest !== 0 && rest < 0 !== b < 0 ? rest + b : rest);
    }
    default:
      if (a === 0 && b < 0) {
        const text = '0.0 cannot be raised to a negative power';
        throw new JinjaError('ZeroDivisionError', text);
      }
      return floatValue(a ** b);
  }
}

function intMath(op: string, a: bigint, b: bigint): unknown {
  if (b === 0n && op === '/') throw new JinjaError('ZeroDivisionError', 'division by zero');
  if (b === 0n && (op === '//' || op === '%')) {
    const text = op === '//' ? 'integer division or modulo by zero' : 'integer modulo by zero';
    throw new JinjaError('ZeroDivisionError', text);
  }
  switch (op) {
    case '+':
      return intValue(a + b);
    case '-':
      return intValue(a - b);
    case '*':
      return intValue(a * b);
    case '/':
      return floatValue(Number(a) / Number(b));
    case '//':
      return intValue((a - modulo(a, b)) / b);
    case '%':
      return intValue(modulo(a, b));
    default:
      if (b < 0n) return floatMath('**', Number(a), Number(b));
      if (BigInt(a.toString(2).length) * b > MAX_BITS) {
        throw new JinjaError('Limit', 'a number of the template grew too long');
      }
      return intValue(a ** b);
  }
}

function modulo(a: bigint, b: bigint): bigint {
  const rest = a % b;
  return rest !== 0n && rest < 0n !== b < 0n ? rest + b : rest;
}

/** Python's comparison operators and `in`. @throws JinjaError */
export function compare(op: string, a: unknown, b: unknown): boolean {
  switch (op) {
    case '==':
    case '!=':
      return equal(a, b) === (op === '==');
    case 'in':
      return contains(b, a);
    case 'not in':
      return !contains(b, a);
    default: {
      const order = orderOf(a, b, op);
      if (Number.isNaN(order)) return false;
      if (op === '<') return order < 0;
      if (op === '>') return order > 0;
      return op === '<=' ? order <= 0 : order >= 0;
    }
  }
}

/** Negative, zero or positive as Python orders two values. @throws JinjaError (TypeError) */
export function orderOf(a: unknown, b: unknown, op = '<'): number {
  for (const side of [a, b]) if (side instanceof Undefined) throw side.error();
  if (typeof a === 'string' && typeof b === 'string') return compareText(a, b);
  const left = numberOf(a);
  const right = numberOf(b);
  if (left !== undefined && right !== undefined) {
    if (Number.isNaN(left) || Number.isNaN(right)) return Number.NaN;
    return left < right ? -1 : left > right ? 1 : 0;
  }
  if (Array.isArray(a) && Array.isArray(b) && a instanceof Tuple === b instanceof Tuple) {
    for (let at = 0; at < Math.min(a.length, b.length); at += 1) {
      const [mine, other] = [(a as unknown[])[at], (b as unknown[])[at]];
      if (!equal(mine, other)) return orderOf(mine, other, op);
    }
    return a.length - b.length;
  }
  const [x, y] = [typeName(a), typeName(b)];
  throw typeError(`'${op}' not supported between instances of '${x}' and '${y}'`);
}

/** The work of searching a value, in steps of a render. */
export function stepsIn(value: unknown): number {
  if (value instanceof PySet) return value.items.length >> 3;
  if (typeof value === 'string') return value.length >> 7;
  return Array.isArray(value) ? value.length >> 3 : 0;
}

/** Python's `in`. @throws JinjaError (TypeError, Undefined) */
export function contains(whole: unknown, part: unknown): boolean {
  for (const side of [whole, part]) {
    if (side instanceof Undefined && !side.lenient) throw side.error();
  }
  if (whole instanceof Undefined) return false;
  if (typeof whole === 'string') {
    if (typeof part === 'string') return whole.includes(part);
    throw typeError(`'in <string>' requires string as left operand, not ${typeName(part)}`);
  }
  if (whole instanceof Map) return whole.has(keyIn(whole, part));
  if (Array.isArray(whole)) return has(whole as unknown[], part);
  if (whole instanceof PySet) return has(whole.items, part);
  throw typeError(`argument of type '${typeName(whole)}' is not iterable`);
}

/** A list sorted as Python's `sorted`. @throws JinjaError (TypeError) */
export function sorted(
  list: readonly unknown[],
  key: (item: unknown) => unknown = (item) => item,
  reverse = false,
): unknown[] {
  const keyed = list.map((item) => ({ item, key: key(item) }));
  // Python keeps equal values in their order, also in reverse.
  keyed.sort((a, b) => (reverse ? orderOf(b.key, a.key) : orderOf(a.key, b.key)));
  return keyed.map(({ item }) => item);
}
