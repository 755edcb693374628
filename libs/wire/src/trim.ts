import { pack } from './msgpack/encode.ts';
import { unpackMap } from './msgpack/splice.ts';
import type { SaltMap, SaltValue } from './value.ts';
import { SaltFloat } from './value.ts';

/** Replaces a value that was too large (Salt: salt/utils/dicttrim.py). */
export const VALUE_TRIMMED = 'VALUE_TRIMMED';

/** sys.getsizeof of an empty bytes object in CPython 3.10 and 3.11; Salt compares with it added. */
const PYTHON_BYTES_OVERHEAD = 33;
const FIRST_PERCENT = 50;
const STEP_PERCENT = 10;

/**
 * Replaces large values of an event by `VALUE_TRIMMED` as Salt does (Salt: salt/utils/dicttrim.py
 * trim_dict): values above 50 % of the limit, then above 40 %, down to 10 %, until the map fits.
 * Maps are searched to any depth. Lists count only eight bytes per item, so a map with most of its
 * bytes in lists of large items stays too large, there as here. A limit of 0 means none; a map that
 * fits is returned unchanged. Throws WireError when the bytes are not one packed map.
 */
export function trimEvent(data: Uint8Array, maxEventSize: number): Uint8Array {
  if (maxEventSize <= 0 || data.length + PYTHON_BYTES_OVERHEAD <= maxEventSize) return data;
  const map = unpackMap(data);
  let packed = pack(map, 'bin');
  for (let percent = FIRST_PERCENT; percent > 0; percent -= STEP_PERCENT) {
    trimMap(map, maxEventSize * (percent / 100));
    packed = pack(map, 'bin');
    if (packed.length + PYTHON_BYTES_OVERHEAD < maxEventSize) break;
  }
  return packed;
}

function trimMap(map: SaltMap, maxValueSize: number): void {
  for (const [key, value] of map) {
    if (value instanceof Map) trimMap(value, maxValueSize);
    else if (pythonSize(value) > maxValueSize) map.set(key, VALUE_TRIMMED);
  }
}

/** The result of sys.getsizeof for a value, in bytes, in CPython 3.10 and 3.11 (64 bit). */
function pythonSize(value: SaltValue): number {
  if (typeof value === 'string') return pythonTextSize(value);
  if (value instanceof Uint8Array) return PYTHON_BYTES_OVERHEAD + value.length;
  if (Array.isArray(value)) return 56 + 8 * value.length;
  if (value === null) return 16;
  if (value instanceof SaltFloat) return 24;
  return 28;
}

/** Python keeps a text in 1, 2 or 4 bytes per character, by its highest character. */
function pythonTextSize(text: string): number {
  let highest = 0;
  let pairs = 0;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit > highest) highest = unit;
    if (unit >= 0xd800 && unit < 0xdc00) pairs += 1;
  }
  const characters = text.length - pairs;
  if (highest < 0x80) return 49 + characters;
  if (pairs > 0) return 76 + 4 * characters;
  return highest < 0x100 ? 73 + characters : 74 + 2 * characters;
}
