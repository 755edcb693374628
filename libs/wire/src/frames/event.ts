import { WireError } from '../errors.ts';
import { pack } from '../msgpack/encode.ts';
import { unpackMap } from '../msgpack/splice.ts';
import { asBuffer } from '../msgpack/text.ts';
import type { SaltMap } from '../value.ts';
import { mapOf } from '../value.ts';

/** Separates the tag from the data of an event (Salt: salt/utils/event.py TAGEND). */
const TAG_END = '\n\n';

/** The bytes of an event: tag, two line feeds, packed map. Throws WireError for an unusable tag. */
export function packEvent(tag: string, data: Uint8Array): Buffer {
  if (tag === '' || tag.includes(TAG_END) || tag.endsWith('\n')) {
    throw new WireError('SALT_WIRE_VALUE', 'a tag must not be empty or contain an empty line');
  }
  return Buffer.concat([Buffer.from(tag + TAG_END, 'utf8'), data]);
}

/**
 * The parts of an event; `data` is still packed, and a view. Throws WireError without separator.
 */
export function splitEvent(bytes: Uint8Array): { readonly tag: string; readonly data: Buffer } {
  const buffer = asBuffer(bytes);
  const at = buffer.indexOf(TAG_END);
  if (at < 0) throw new WireError('SALT_WIRE_FRAMING', 'event has no end of tag');
  return { tag: buffer.toString('utf8', 0, at), data: buffer.subarray(at + TAG_END.length) };
}

/**
 * Packs a map again as the event sockets need it: text as str, bytes that are not UTF-8 as bin,
 * with the fields of `extra` added or replaced. Throws WireError when the bytes are not one packed
 * map.
 */
export function toBinMap(data: Uint8Array, extra?: SaltMap): Buffer {
  const map = unpackMap(data);
  if (extra !== undefined) for (const [key, value] of extra) map.set(key, value);
  return pack(map, 'bin');
}

/**
 * The `_stamp` of an event: UTC, ISO 8601 with microseconds, as Python's isoformat writes it.
 * @param timeMs ms since 1970; microseconds are its fraction
 * @param zone 3008 writes `+00:00` after it, older releases nothing
 */
export function eventStamp(timeMs: number, zone: boolean): string {
  // A number is exact for today's microseconds, but not for each of them as a fraction.
  const us = Math.round(timeMs * 1000);
  const iso = new Date(Math.floor(us / 1000)).toISOString().slice(0, -1);
  return `${iso}${String(us % 1000).padStart(3, '0')}${zone ? '+00:00' : ''}`;
}

/** `toBinMap` with `_stamp` set; see {@link eventStamp}. */
export function restampEvent(data: Uint8Array, stamp: string): Buffer {
  return toBinMap(data, mapOf({ _stamp: stamp }));
}
