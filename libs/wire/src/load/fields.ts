import { WireError } from '../errors.ts';
import type { SaltMap, SaltValue } from '../value.ts';

/** Fails with SALT_WIRE_FIELD: the load lacks a field or has it in another type. */
export function fieldError(load: string, key: string, wanted: string): WireError {
  return new WireError('SALT_WIRE_FIELD', `${load} load: ${key} is not ${wanted}`);
}

/** The text under `key`; throws SALT_WIRE_FIELD. */
export function needText(map: SaltMap, key: string, load: string): string {
  const value = map.get(key);
  if (typeof value !== 'string') throw fieldError(load, key, 'text');
  return value;
}

/** The bytes under `key`, text as its UTF-8; throws SALT_WIRE_FIELD. */
export function needBytes(map: SaltMap, key: string, load: string): Uint8Array {
  const value = map.get(key);
  if (typeof value === 'string') return Buffer.from(value, 'utf8');
  if (!(value instanceof Uint8Array)) throw fieldError(load, key, 'bytes');
  return value;
}

/** The text under `key`, undefined when absent or nil; throws SALT_WIRE_FIELD for other types. */
export function optionalText(map: SaltMap, key: string, load: string): string | undefined {
  const value = map.get(key) ?? undefined;
  if (value !== undefined && typeof value !== 'string') throw fieldError(load, key, 'text');
  return value;
}

/** The list under `key`, empty when absent or nil; throws SALT_WIRE_FIELD for other types. */
export function listOrEmpty(map: SaltMap, key: string, load: string): SaltValue[] {
  const value = map.get(key) ?? [];
  if (!Array.isArray(value)) throw fieldError(load, key, 'a list');
  return value;
}

/** The map under `key`, undefined when absent or nil; throws SALT_WIRE_FIELD for other types. */
export function optionalMap(map: SaltMap, key: string, load: string): SaltMap | undefined {
  const value = map.get(key) ?? undefined;
  if (value !== undefined && !(value instanceof Map)) throw fieldError(load, key, 'a map');
  return value;
}

/** A text or a list of texts under `key`; throws SALT_WIRE_FIELD. */
export function needTexts(map: SaltMap, key: string, load: string): string | string[] {
  const value = map.get(key);
  if (typeof value === 'string') return value;
  if (!isTexts(value)) throw fieldError(load, key, 'text or a list of texts');
  return value;
}

/** True for a list of nothing but texts. */
export function isTexts(value: SaltValue | undefined): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

/** The entries of a map whose keys are not among `known`. */
export function otherFields(map: SaltMap, known: ReadonlySet<string>): SaltMap {
  const others: SaltMap = new Map();
  for (const [key, value] of map) {
    if (typeof key !== 'string' || !known.has(key)) others.set(key, value);
  }
  return others;
}

/** `{ [name]: value }`, or nothing when the value is undefined: for exact optional properties. */
export function maybe<K extends string, V>(
  name: K,
  value: V | undefined,
): Partial<Readonly<Record<K, V>>> {
  return value === undefined ? {} : ({ [name]: value } as Readonly<Record<K, V>>);
}
