import { SaltFloat } from '@brine/wire';
import { JinjaError } from '../errors.ts';

/** Python's tuple. An array, so that it can be used as a list. */
export class Tuple extends Array<unknown> {
  static override get [Symbol.species](): ArrayConstructor {
    return Array;
  }
}

/** A tuple whose values have names too (Python: collections.namedtuple). */
export class NamedTuple extends Tuple {
  names: readonly string[] = [];
}

/** Python's range, which prints itself and not its numbers. */
export class Range extends Array<unknown> {
  static override get [Symbol.species](): ArrayConstructor {
    return Array;
  }

  text = '';
}

/** A tuple of these values. */
export function tupleOf(values: Iterable<unknown>): Tuple {
  const tuple = new Tuple();
  for (const value of values) tuple.push(value);
  return tuple;
}

/** Python's set, in the order of insertion. */
export class PySet {
  readonly items: unknown[];

  constructor(items: unknown[]) {
    this.items = items;
  }
}

/** Jinja's value for a missing name; every use but the tests raises. */
export class Undefined {
  readonly text: string;
  /** Prints nothing and is false: an `if` without `else`, or any with `allow_undefined`. */
  readonly lenient: boolean;

  constructor(text: string, lenient = false) {
    this.text = text;
    this.lenient = lenient;
  }

  /** The error that using it raises. */
  error(): JinjaError {
    return new JinjaError('Undefined', this.text);
  }
}

/** Positional and keyword arguments of one call. */
export interface CallArguments {
  readonly positional: readonly unknown[];
  readonly named: ReadonlyMap<string, unknown>;
}

/** A function that templates can call. */
export class PyFunction {
  readonly name: string;
  readonly call: (args: CallArguments) => unknown;
  /** The text of `repr`; by default that of a plain function. */
  readonly shown: string | undefined;

  constructor(name: string, call: (args: CallArguments) => unknown, shown?: string) {
    this.name = name;
    this.call = call;
    this.shown = shown;
  }
}

/** An object with attributes: the loop, a namespace, a macro, an imported template. */
export class PyObject {
  readonly typeName: string;
  readonly attributes: Map<string, unknown>;
  /** Called when a template calls the object. */
  readonly call: ((args: CallArguments) => unknown) | undefined;
  /** The text of `str`. */
  readonly text: () => string;

  constructor(
    typeName: string,
    attributes: Map<string, unknown>,
    text: () => string,
    call?: (args: CallArguments) => unknown,
  ) {
    this.typeName = typeName;
    this.attributes = attributes;
    this.text = text;
    this.call = call;
  }
}

/** A dict whose class is not `dict`: errors name it. */
export class NamedDict extends Map<string, unknown> {
  readonly typeName: string;

  constructor(typeName: string) {
    super();
    this.typeName = typeName;
  }
}

/** Python's dict. */
export type Dict = Map<unknown, unknown>;

/** True for Python's dict. */
export function isDict(value: unknown): value is Dict {
  return value instanceof Map;
}

/** True for Python's list (not for a tuple). */
export function isList(value: unknown): value is unknown[] {
  return Array.isArray(value) && !(value instanceof Tuple) && !(value instanceof Range);
}

/** True for Python's int; booleans are ints there too, but not here. */
export function isInt(value: unknown): value is number | bigint {
  return typeof value === 'bigint' || (typeof value === 'number' && Number.isSafeInteger(value));
}

/** True for Python's float. */
export function isFloat(value: unknown): value is number | SaltFloat {
  return value instanceof SaltFloat || (typeof value === 'number' && !Number.isSafeInteger(value));
}

/** Python's name of the type of a value. */
export function typeName(value: unknown): string {
  if (value === null) return 'NoneType';
  if (typeof value === 'string') return 'str';
  if (typeof value === 'boolean') return 'bool';
  if (isInt(value)) return 'int';
  if (isFloat(value)) return 'float';
  if (value instanceof Tuple) return 'tuple';
  if (value instanceof Range) return 'range';
  if (Array.isArray(value)) return 'list';
  if (value instanceof NamedDict) return value.typeName;
  if (value instanceof Map) return 'dict';
  if (value instanceof PySet) return 'set';
  if (value instanceof Uint8Array) return 'bytes';
  if (value instanceof PyObject) return value.typeName;
  if (value instanceof PyFunction) return 'function';
  return value instanceof Undefined ? 'StrictUndefined' : 'object';
}

/** The key under which a dict keeps a value: whole floats equal their integers. */
export function keyOf(value: unknown): unknown {
  if (value instanceof SaltFloat && Number.isSafeInteger(value.value)) return value.value;
  if (value instanceof Undefined) throw value.error();
  if (isList(value) || value instanceof Map || value instanceof PySet) {
    throw new JinjaError('TypeError', `unhashable type: '${typeName(value)}'`);
  }
  return value;
}

/**
 * The key of a dict that equals a value, else the key that it would get. True and 1 are one key, as
 * are False and 0; the first one that was added stays.
 */
export function keyIn(dict: ReadonlyMap<unknown, unknown>, value: unknown): unknown {
  return knownKey(dict, keyOf(value));
}

/** As {@link keyIn}, for a value that is a key already. */
export function knownKey(dict: ReadonlyMap<unknown, unknown>, key: unknown): unknown {
  const twin = typeof key === 'boolean' ? Number(key) : key === 0 || key === 1 ? key === 1 : key;
  return twin !== key && !dict.has(key) && dict.has(twin) ? twin : key;
}

/** A number as a float of Python's. */
export function floatValue(value: number): number | SaltFloat {
  return Number.isSafeInteger(value) ? new SaltFloat(value) : value;
}

/** An integer of any size in its shortest form. */
export function intValue(value: bigint): number | bigint {
  const small = Number(value);
  return Number.isSafeInteger(small) ? small : value;
}

/** The number in a value (booleans count); undefined for anything else. */
export function numberOf(value: unknown): number | bigint | undefined {
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (value instanceof SaltFloat) return value.value;
  return typeof value === 'number' || typeof value === 'bigint' ? value : undefined;
}

/** Python's truth. */
export function truth(value: unknown): boolean {
  if (value === null || value === false) return false;
  if (value === true) return true;
  if (value instanceof Undefined) {
    if (value.lenient) return false;
    throw value.error();
  }
  if (typeof value === 'string' || Array.isArray(value) || value instanceof Uint8Array) {
    return value.length > 0;
  }
  if (value instanceof Map) return value.size > 0;
  if (value instanceof PySet) return value.items.length > 0;
  const number = numberOf(value);
  if (typeof number === 'bigint') return number !== 0n;
  return number === undefined ? true : number !== 0;
}

/** Python's iteration. @throws JinjaError (TypeError, Undefined) */
export function iterate(value: unknown): unknown[] {
  if (Array.isArray(value)) return value as unknown[];
  if (typeof value === 'string') return [...value];
  if (value instanceof Map) return [...value.keys()];
  if (value instanceof PySet) return value.items;
  if (value instanceof Uint8Array) return [...value];
  if (value instanceof Undefined) {
    if (value.lenient) return [];
    throw value.error();
  }
  throw new JinjaError('TypeError', `'${typeName(value)}' object is not iterable`);
}

/** Python's `len`. @throws JinjaError (TypeError, Undefined) */
export function lengthOf(value: unknown): number {
  if (value instanceof Map) return value.size;
  if (value instanceof Undefined) {
    if (value.lenient) return 0;
    throw value.error();
  }
  if (Array.isArray(value) || value instanceof Uint8Array) return value.length;
  if (typeof value === 'string') return [...value].length;
  if (value instanceof PySet) return value.items.length;
  throw new JinjaError('TypeError', `object of type '${typeName(value)}' has no len()`);
}
