import type { Fields, SaltMap, SaltValue } from '@brine/wire';
import { mapOf } from '@brine/wire';
import { toJson } from '@brine/wire/text';

/**
 * A load with more bytes of JSON than this is stored as bytes alone. PostgreSQL takes 256 MB in one
 * jsonb, and numbers grow sixfold on their way into it.
 */
export const MAX_JSON_BYTES = 64 * 1024 * 1024;

/** Fields that the JSON of a return always contains: they are small, and the ledger needs them. */
const KEPT_OF_RETURN = ['jid', 'id', 'fun', 'retcode', 'success', 'out'] as const;
/** The same for a job. */
const KEPT_OF_JOB = ['jid', 'fun', 'tgt', 'tgt_type', 'user', 'ret'] as const;

/** The longest text of such a field. */
const MAX_KEPT_CHARACTERS = 1_000;

/**
 * The JSON of a return for the column `full_ret`. If the return is too large, its content is a
 * reference, `"return": {"$raw": <bytes>}`, to the column `raw` of the same row.
 */
export function fullRet(load: SaltMap, raw: Uint8Array): string {
  return wholeJson(load, raw) ?? referredRet(load, raw);
}

/** The JSON of a return that PostgreSQL refuses with its content. */
export function referredRet(load: Fields, raw: Uint8Array): string {
  return referred(load, KEPT_OF_RETURN, 'return', raw);
}

/** The JSON of a job for the column `load`; a large one has a reference for its `arg`. */
export function fullLoad(load: SaltMap, raw: Uint8Array): string {
  return wholeJson(load, raw) ?? referred(load, KEPT_OF_JOB, 'arg', raw);
}

function wholeJson(load: SaltMap, raw: Uint8Array): string | undefined {
  // JSON is shorter than its msgpack only for numbers, by less than half.
  if (raw.byteLength > 2 * MAX_JSON_BYTES) return undefined;
  try {
    const { json } = toJson(load);
    // A character has three bytes at most: most loads need no counting.
    const isSmall = json.length * 3 <= MAX_JSON_BYTES;
    return isSmall || Buffer.byteLength(json) <= MAX_JSON_BYTES ? json : undefined;
  } catch (error) {
    // The JSON is longer than a text of JavaScript may be.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function referred(load: Fields, kept: readonly string[], large: string, raw: Uint8Array): string {
  const fields: Record<string, SaltValue> = {};
  for (const key of kept) {
    const value = load.get(key);
    if (value !== undefined && isPlain(value)) fields[key] = value;
  }
  return toJson(mapOf({ ...fields, [large]: mapOf({ $raw: raw.byteLength }) })).json;
}

function isPlain(value: SaltValue): boolean {
  if (typeof value !== 'string') return typeof value === 'number' || typeof value === 'boolean';
  return value.length <= MAX_KEPT_CHARACTERS && !value.includes('\0');
}
