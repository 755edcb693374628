/** An integral float64 such as 1.0. Kept apart so that it is written as a float again. */
export class SaltFloat {
  readonly value: number;

  constructor(value: number) {
    this.value = value;
  }
}

/**
 * A datetime: msgpack extension 78, text `%Y%m%dT%H:%M:%S.%f` without zone (Salt: salt/payload.py).
 */
export class SaltDatetime {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A named constant such as NOT_SET: msgpack extension 79 (Salt: salt/payload.py, since 3007). */
export class SaltConstant {
  readonly name: string;
  readonly value: SaltValue;

  constructor(name: string, value: SaltValue) {
    this.name = name;
    this.value = value;
  }
}

/**
 * A list that is a tuple in Python: its repr has other brackets. Otherwise it is a list, as on the
 * wire, which has no tuples.
 */
export class SaltTuple extends Array<SaltValue> {}

/** A map as Salt has it: ordered, keys of any scalar type, no prototype to pollute. */
export type SaltMap = Map<SaltValue, SaltValue>;

/** Any value in a Salt message, as this library reads and writes it. */
export type SaltValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | SaltFloat
  | SaltDatetime
  | SaltConstant
  | SaltValue[]
  | SaltMap;

/** Named fields: a map, or a map whose values are still packed. */
export interface Fields {
  get(key: string): SaltValue | undefined;
}

/** A map out of an object literal; entries that are undefined are left out. */
export function mapOf(entries: Readonly<Record<string, SaltValue | undefined>>): SaltMap {
  const map: SaltMap = new Map();
  for (const [key, value] of Object.entries(entries)) {
    if (value !== undefined) map.set(key, value);
  }
  return map;
}

/** True for a map. */
export function isMap(value: SaltValue | undefined): value is SaltMap {
  return value instanceof Map;
}

/** The text under `key`; undefined when absent or of another type. */
export function textOf(map: Fields, key: string): string | undefined {
  const value = map.get(key);
  return typeof value === 'string' ? value : undefined;
}

/** The safe integer under `key`; undefined when absent or of another type (floats included). */
export function intOf(map: Fields, key: string): number | undefined {
  const value = map.get(key);
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : undefined;
}

/** The boolean under `key`; undefined when absent or of another type. */
export function boolOf(map: Fields, key: string): boolean | undefined {
  const value = map.get(key);
  return typeof value === 'boolean' ? value : undefined;
}

/**
 * The bytes under `key`. Text counts as its UTF-8 bytes: binary that happens to be valid UTF-8
 * arrives as text. Undefined when absent or of another type.
 */
export function bytesOf(map: Fields, key: string): Uint8Array | undefined {
  const value = map.get(key);
  if (typeof value === 'string') return Buffer.from(value, 'utf8');
  return value instanceof Uint8Array ? value : undefined;
}

/** The list under `key`; undefined when absent or of another type. */
export function listOf(map: Fields, key: string): SaltValue[] | undefined {
  const value = map.get(key);
  return Array.isArray(value) ? value : undefined;
}

/** The map under `key`; undefined when absent or of another type. */
export function mapIn(map: Fields, key: string): SaltMap | undefined {
  const value = map.get(key);
  return value instanceof Map ? value : undefined;
}
