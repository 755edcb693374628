import { WireError } from '../errors.ts';
import type { SaltMap, SaltValue } from '../value.ts';
import { unpack } from './decode.ts';
import type { PackMode } from './encode.ts';
import { pack } from './encode.ts';
import type { UnpackLimits } from './limits.ts';
import type { MapScan, ScannedEntry } from './scan.ts';
import { scanMap } from './scan.ts';

/** The header of a map with `count` entries. */
export function mapHead(count: number): Buffer {
  if (count <= 0x0f) return Buffer.from([0x80 | count]);
  if (count <= 0xffff) return Buffer.from([0xde, count >> 8, count & 0xff]);
  const head = Buffer.allocUnsafe(5);
  head[0] = 0xdf;
  head.writeUInt32BE(count, 1);
  return head;
}

function join(
  scan: MapScan,
  kept: readonly ScannedEntry[],
  added: readonly Uint8Array[],
  addedCount: number,
): Buffer {
  const parts: Uint8Array[] = [mapHead(kept.length + addedCount)];
  let runStart = -1;
  let runEnd = -1;
  for (const entry of kept) {
    if (entry.keyStart !== runEnd) {
      if (runStart >= 0) parts.push(scan.bytesIn.subarray(runStart, runEnd));
      runStart = entry.keyStart;
    }
    runEnd = entry.valueEnd;
  }
  if (runStart >= 0) parts.push(scan.bytesIn.subarray(runStart, runEnd));
  parts.push(...added);
  return Buffer.concat(parts);
}

/**
 * A packed map without the named fields, everything else byte for byte as it was.
 * Throws WireError when the bytes are not one packed map.
 */
export function cutFields(mapBytes: Uint8Array | MapScan, keys: readonly string[]): Buffer {
  const scan = mapBytes instanceof Uint8Array ? scanMap(mapBytes) : mapBytes;
  const kept = scan.entries.filter((entry) => entry.key === null || !keys.includes(entry.key));
  if (kept.length === scan.entries.length) return scan.bytesIn;
  return join(scan, kept, [], 0);
}

/**
 * A packed map with one more field at its end; a field of that name is replaced.
 * Throws WireError when the bytes are not one packed map or the value cannot be packed.
 */
export function appendField(
  mapBytes: Uint8Array | MapScan,
  key: string,
  value: SaltValue,
  mode: PackMode = 'raw',
): Buffer {
  return appendPacked(mapBytes, key, pack(value, mode), mode);
}

/** As `appendField`, for a value that is packed already. */
export function appendPacked(
  mapBytes: Uint8Array | MapScan,
  key: string,
  packed: Uint8Array,
  mode: PackMode = 'raw',
): Buffer {
  const scan = mapBytes instanceof Uint8Array ? scanMap(mapBytes) : mapBytes;
  const kept = scan.entries.filter((entry) => entry.key !== key);
  return join(scan, kept, [pack(key, mode), packed], 1);
}

/** True if the first byte is that of a map. */
export function startsMap(bytes: Uint8Array): boolean {
  const type = bytes[0] ?? 0;
  return (type >= 0x80 && type <= 0x8f) || type === 0xde || type === 0xdf;
}

/** Reads a packed map; throws WireError also for values that are no map. */
export function unpackMap(bytes: Uint8Array, limits?: UnpackLimits): SaltMap {
  // Checked first: other values need not be read.
  if (bytes.length > 0 && !startsMap(bytes)) {
    throw new WireError('SALT_WIRE_TYPE', 'message is not a map');
  }
  const value = unpack(bytes, limits);
  if (!(value instanceof Map)) throw new WireError('SALT_WIRE_TYPE', 'message is not a map');
  return value;
}
