import { JinjaError } from '../errors.ts';
import { isDict, knownKey, numberOf, PySet, Tuple, Undefined } from './values.ts';

const MAX_DEPTH = 200;

/** Python's `==`. */
export function equal(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  const left = numberOf(a);
  const right = numberOf(b);
  if (left !== undefined && right !== undefined)
    return typeof left === typeof right ? left === right : !(left < right) && !(left > right);
  if (Array.isArray(a) && Array.isArray(b)) {
    if (a.length !== b.length || a instanceof Tuple !== b instanceof Tuple) return false;
    return a.every((item, at) => equal(item, (b as unknown[])[at]));
  }
  if (a instanceof Map && b instanceof Map) {
    if (a.size !== b.size) return false;
    return [...a].every(([key, item]) => {
      const other = knownKey(b, key);
      return b.has(other) && equal(item, b.get(other));
    });
  }
  if (a instanceof PySet && b instanceof PySet) {
    return a.items.length === b.items.length && new ValueIndex(b.items).hasAll(a.items);
  }
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b) === 0;
  for (const side of [a, b]) if (side instanceof Undefined && !side.lenient) throw side.error();
  return a instanceof Undefined && b instanceof Undefined;
}

/** True if a list contains an equal value. */
export function has(list: readonly unknown[], value: unknown): boolean {
  return list.some((item) => equal(item, value));
}

/** An index of values by Python's `==`; a lookup costs the length of the value only. */
export class ValueIndex {
  readonly #scalars = new Set<unknown>();
  /** The texts of composite values: equal values have equal texts. */
  readonly #others = new Set<string>();
  /** Values that equal themselves alone. */
  readonly #numbers = new Map<unknown, number>();

  constructor(values: readonly unknown[] = []) {
    for (const value of values) this.add(value);
  }

  has(value: unknown): boolean {
    const key = scalarKey(value);
    return key === undefined ? this.#others.has(this.#text(value, 0)) : this.#scalars.has(key);
  }

  hasAll(values: readonly unknown[]): boolean {
    return values.every((value) => this.has(value));
  }

  /** Adds a value; true if it was missing. */
  add(value: unknown): boolean {
    const key = scalarKey(value);
    const [set, item] =
      key === undefined ? [this.#others, this.#text(value, 0)] : [this.#scalars, key];
    const { size } = set;
    set.add(item);
    return set.size > size;
  }

  #text(value: unknown, depth: number): string {
    if (depth > MAX_DEPTH) throw new JinjaError('Limit', 'nested too deeply');
    const inner = (item: unknown): string => this.#text(item, depth + 1);
    if (typeof value === 'string') return JSON.stringify(value);
    const key = scalarKey(value);
    if (key !== undefined) return String(key);
    if (value instanceof Undefined) throw value.error();
    if (Array.isArray(value)) {
      return `${value instanceof Tuple ? 't' : ''}[${[...(value as unknown[])].map(inner).join()}]`;
    }
    if (isDict(value)) {
      const entries = [...value].map(([name, item]) => `${inner(name)}:${inner(item)}`);
      return `{${entries.sort().join()}}`;
    }
    if (value instanceof PySet) return `s{${value.items.map(inner).sort().join()}}`;
    if (value instanceof Uint8Array) return `b${Buffer.from(value).toString('hex')}`;
    const known = this.#numbers.get(value) ?? this.#numbers.size;
    this.#numbers.set(value, known);
    return `#${known}`;
  }
}

/** A key that equal scalars share (1, 1.0 and true; each NaN differs); undefined for others. */
function scalarKey(value: unknown): string | number | bigint | null | undefined {
  if (value === null || typeof value === 'string') return value;
  const number = numberOf(value);
  if (number === undefined || Number.isNaN(number)) return undefined;
  if (typeof number === 'bigint')
    return Number.isSafeInteger(Number(number)) ? Number(number) : number;
  return Number.isInteger(number) && !Number.isSafeInteger(number) ? BigInt(number) : number;
}
