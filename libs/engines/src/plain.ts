import {
  DEFAULT_MAX_DEPTH,
  isMap,
  SaltDatetime,
  SaltFloat,
  type SaltMap,
  type SaltValue,
} from '@brine/wire';
import { pyStr } from '@brine/wire/text';
import type { Plain } from './engine.ts';

const UTF8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Converts a value of the wire to JSON's values. @throws RangeError for a value that nests too deep
 */
export function plainOf(value: SaltValue, depth = 0): Plain {
  if (depth > DEFAULT_MAX_DEPTH)
    throw new RangeError(`a value nests deeper than ${DEFAULT_MAX_DEPTH}`);
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (typeof value === 'bigint') return value.toString();
  if (Array.isArray(value)) return value.map((item) => plainOf(item, depth + 1));
  if (isMap(value)) return plainMap(value, depth + 1);
  if (value instanceof Uint8Array) return textOfBytes(value);
  if (value instanceof SaltFloat) return plainOf(value.value, depth);
  if (value instanceof SaltDatetime) return value.text;
  return value.name;
}

/** Makes an object without a prototype, so that no key has a special meaning. */
export function plainMap(map: SaltMap, depth = 0): { readonly [key: string]: Plain } {
  const made = Object.create(null) as Record<string, Plain>;
  for (const [key, value] of map) made[pyStr(key)] = plainOf(value, depth);
  return made;
}

/** Bytes as text if they are UTF-8, else in base64. */
function textOfBytes(bytes: Uint8Array): string {
  try {
    return UTF8.decode(bytes);
  } catch {
    return Buffer.from(bytes).toString('base64');
  }
}

/** Converts an engine's value for the wire. @throws RangeError if it nests too deep; TypeError */
export function saltOf(value: unknown, depth = 0): SaltValue {
  if (depth > DEFAULT_MAX_DEPTH)
    throw new RangeError(`a value nests deeper than ${DEFAULT_MAX_DEPTH}`);
  if (value === null || value === undefined) return null;
  if (typeof value === 'boolean' || typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'bigint') return value;
  if (value instanceof Uint8Array) return value;
  if (Array.isArray(value)) return value.map((item) => saltOf(item, depth + 1));
  if (typeof value !== 'object') throw new TypeError(`a ${typeof value} can not be sent`);
  return saltMap(value, depth + 1);
}

/** Converts an object. @throws as {@link saltOf} */
export function saltMap(value: object, depth = 0): SaltMap {
  const fields = Object.entries(value).filter(([, item]) => item !== undefined);
  return new Map(fields.map(([key, item]) => [key, saltOf(item, depth)]));
}
