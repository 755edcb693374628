import { valueError } from '../errors.ts';
import { bounded } from '../limits.ts';
import { equal } from '../python/equality.ts';
import { compare } from '../python/operators.ts';
import { isDict, isList, numberOf, truth } from '../python/values.ts';
import { Expression, type Step } from './expression.ts';
import { callFunction } from './functions.ts';
import type { Node } from './parser.ts';

/** Evaluates an expression on a value, as jmespath.py does. @throws JinjaError */
export function evaluate(node: Node, value: unknown, step: Step): unknown {
  step(1);
  const { children } = node;
  const of = (place: number, input: unknown = value): unknown => {
    const child = children[place];
    return child === undefined ? null : evaluate(child, input, step);
  };
  switch (node.type) {
    case 'literal':
      return node.value;
    case 'current':
      return value;
    case 'field':
      return isDict(value) ? (value.get(node.value) ?? null) : null;
    case 'index':
      return isList(value) ? (value.at(Number(node.value)) ?? null) : null;
    case 'slice':
      return isList(value) ? sliced(value, node.value as Parts, step) : null;
    case 'chain':
      return of(1, of(0));
    case 'pair':
      return of(0);
    case 'list':
      return value === null ? null : children.map((_, place) => of(place));
    case 'dict':
      if (value === null) return null;
      return new Map(children.map((pair, place) => [pair.value, of(place)]));
    case 'or':
    case 'and': {
      const left = of(0);
      return isFalse(left) === (node.type === 'or') ? of(1) : left;
    }
    case 'not':
      return not(of(0));
    case 'comparator':
      return compared(String(node.value), of(0), of(1));
    case 'flatten':
      return flattened(of(0), step);
    case 'projection':
    case 'filter':
    case 'values': {
      const base = of(0);
      const list = node.type === 'values' ? (isDict(base) ? [...base.values()] : null) : base;
      if (!isList(list)) return null;
      step(list.length);
      const chosen = node.type === 'filter' ? list.filter((item) => !isFalse(of(2, item))) : list;
      return chosen.map((item) => of(1, item)).filter((item) => item !== null);
    }
    case 'expref':
      return new Expression((input) => of(0, input));
    case 'function': {
      const args = children.map((_, place) => of(place));
      return callFunction(String(node.value), args, step);
    }
  }
}

type Parts = readonly [number | null, number | null, number | null];

/** Python's `list[start:stop:step]`. */
function sliced(list: readonly unknown[], [start, stop, by]: Parts, step: Step): unknown[] {
  step(list.length);
  const stride = by ?? 1;
  if (stride === 0) throw valueError('slice step cannot be zero');
  const last = stride > 0 ? list.length : list.length - 1;
  const first = stride > 0 ? 0 : -1;
  const place = (given: number): number =>
    Math.min(Math.max(given < 0 ? given + list.length : given, first), last);
  const from = start === null ? (stride > 0 ? first : last) : place(start);
  const to = stop === null ? (stride > 0 ? last : first) : place(stop);
  const picked: unknown[] = [];
  for (let at = from; stride > 0 ? at < to : at > to; at += stride) picked.push(list[at]);
  return picked;
}

function flattened(value: unknown, step: Step): unknown[] | null {
  if (!isList(value)) return null;
  const length = value.reduce<number>((total, item) => total + (isList(item) ? item.length : 1), 0);
  step(length);
  return bounded(length, () => value.flatMap((item) => (isList(item) ? item : [item])));
}

/** True for values that count as false: none, false, and empty ones, but not 0. */
function isFalse(value: unknown): boolean {
  if (value === null || value === false || value === '') return true;
  return (isList(value) && value.length === 0) || (isDict(value) && value.size === 0);
}

function not(value: unknown): boolean {
  if (typeof value !== 'boolean' && numberOf(value) !== undefined) return false;
  return !truth(value);
}

const OPERATORS: Readonly<Record<string, string>> = { lt: '<', lte: '<=', gt: '>', gte: '>=' };

function compared(how: string, left: unknown, right: unknown): boolean | null {
  if (how === 'eq' || how === 'ne') return isSame(left, right) === (how === 'eq');
  const operator = OPERATORS[how];
  if (operator === undefined || !isComparable(left) || !isComparable(right)) return null;
  return compare(operator, left, right);
}

/** Compares as Python does, except that booleans are no numbers. */
function isSame(left: unknown, right: unknown): boolean {
  if (typeof left === 'boolean' || typeof right === 'boolean') return left === right;
  return equal(left, right);
}

function isComparable(value: unknown): boolean {
  return typeof value === 'string' || (typeof value !== 'boolean' && numberOf(value) !== undefined);
}
