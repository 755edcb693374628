import { mapOf, toJson } from '@brine/wire';
import type { SaltMap } from '@brine/wire';

/**
 * A return whose JSON is larger than this, in bytes, is kept as bytes alone. PostgreSQL holds
 * 256 MB in one jsonb, and numbers grow sixfold on their way into it.
 */
export const MAX_JSON_BYTES = 64 * 1024 * 1024;

/** What the JSON of a return has in any case: small, and what the ledger and people look for. */
const KEPT = ['jid', 'id', 'fun', 'retcode', 'success', 'out'] as const;

/** The longest text of a field that is kept where the return is not. */
const MAX_KEPT_CHARACTERS = 1_000;

/**
 * The JSON of a return for the column `full_ret`. What is too large for it is told by reference:
 * `"return": {"$raw": <bytes>}`, and stands whole in the column `raw` of the same row.
 */
export function fullRet(load: SaltMap, raw: Uint8Array): string {
  // JSON is shorter than its msgpack only for floats, by a third.
  if (raw.byteLength > 2 * MAX_JSON_BYTES) return referredRet(load, raw);
  try {
    const { json } = toJson(load);
    // A character has three bytes at most: most returns need no counting.
    const isSmall = json.length * 3 <= MAX_JSON_BYTES;
    if (isSmall || Buffer.byteLength(json) <= MAX_JSON_BYTES) return json;
  } catch (error) {
    // Longer than any text of JavaScript may be.
    if (!(error instanceof RangeError)) throw error;
  }
  return referredRet(load, raw);
}

/** The JSON of a return that PostgreSQL can not take as it is. */
export function referredRet(load: SaltMap, raw: Uint8Array): string {
  const kept = KEPT.map((key) => [key, load.get(key)] as const).filter(([, value]) =>
    typeof value === 'string'
      ? value.length <= MAX_KEPT_CHARACTERS && !value.includes('\0')
      : typeof value === 'number' || typeof value === 'boolean',
  );
  const whole = { ...Object.fromEntries(kept), return: mapOf({ $raw: raw.byteLength }) };
  return toJson(mapOf(whole)).json;
}
