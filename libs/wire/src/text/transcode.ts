import { isUtf8 } from 'node:buffer';
import { COST_OBJECT, DEFAULT_MAX_COST, DEFAULT_MAX_DEPTH } from '../msgpack/limits.ts';
import type { ScannedEntry } from '../msgpack/scan.ts';
import { MapScan } from '../msgpack/scan.ts';
import { startsMap } from '../msgpack/splice.ts';
import { asBuffer, isAsciiAt } from '../msgpack/text.ts';
import { pyFloat } from './python-repr.ts';

/**
 * Bytes of the longest message that is transcoded. No byte costs more than a map's, so such a
 * message is within the limit of `unpack`, which need not be counted here.
 */
const MAX_BYTES = DEFAULT_MAX_COST / COST_OBJECT;

/** The most characters of JSON for a byte: `false,`, and `\u0001` in a text. */
const JSON_PER_BYTE = 6;

/** Up to this many keys are compared with each other; keys of larger maps are sorted. */
const COMPARED_KEYS = 16;

/** Slots for the keys of returns, which recur. */
const KNOWN_KEYS = 256;

/** In a text this long, runs of plain bytes this long are copied by a native call. */
const LONG_TEXT = 256;
const LONG_RUN = 64;

/** 1 for the bytes that a JSON text has unescaped: ASCII without controls, `"` and `\`. */
const IS_PLAIN = Uint8Array.from({ length: 256 }, (_, byte) =>
  Number(byte >= 0x20 && byte < 0x80 && byte !== 0x22 && byte !== 0x5c),
);
const ESCAPES = Array.from({ length: 128 }, (_, byte) =>
  JSON.stringify(String.fromCharCode(byte)).slice(1, -1),
);

/** A packed map as JSON, and the offsets of its fields. */
export interface Transcoded {
  readonly json: string;
  readonly scan: MapScan;
}

/**
 * Writes the JSON of packed maps straight from their bytes. The text is the same as from
 * `toJson(unpackMap(bytes))`, at a fifth of the cost, and the fields are those of `scanMap`. It
 * leaves to the slow way: values that need an escape form in JSON, a repeated key, extensions,
 * messages above 1 MiB, and bytes that `unpack` refuses.
 */
export class JsonTranscoder {
  #bytes: Buffer = Buffer.alloc(0);
  #at = 0;
  #end = 0;
  #json: Buffer = Buffer.alloc(0);
  #to = 0;
  #isAscii = true;
  /** Of the outermost map. */
  #entries: ScannedEntry[] = [];
  /** Hashes of the keys of all open maps, the innermost last. */
  #hashes = new Int32Array(64);
  #hashed = 0;
  readonly #known: (string | undefined)[] = new Array<undefined>(KNOWN_KEYS).fill(undefined);

  /** Undefined for a message that the slow way has to read or refuse. */
  read(bytes: Uint8Array): Transcoded | undefined {
    if (bytes.length > MAX_BYTES) return undefined;
    this.#begin(asBuffer(bytes));
    if (!startsMap(bytes) || !this.#value(0) || this.#at !== this.#end) return undefined;
    const json = this.#json.toString(this.#isAscii ? 'latin1' : 'utf8', 0, this.#to);
    return { json, scan: new MapScan(this.#bytes, this.#entries) };
  }

  #begin(bytes: Buffer): void {
    this.#bytes = bytes;
    this.#entries = [];
    this.#at = 0;
    this.#end = bytes.length;
    this.#to = 0;
    this.#hashed = 0;
    this.#isAscii = true;
    const needed = JSON_PER_BYTE * bytes.length + 8;
    if (this.#json.length < needed) this.#json = Buffer.allocUnsafeSlow(needed);
  }

  /** Writes the next value; if it can not, returns false, and everything ends. */
  #value(depth: number): boolean {
    // 0xc1 begins no value, and so does the end.
    const type = this.#bytes[this.#at++] ?? 0xc1;
    if (type < 0x80) return this.#number(type);
    if (type < 0x90) return this.#map(type & 0x0f, depth);
    if (type < 0xa0) return this.#list(type & 0x0f, depth);
    if (type < 0xc0) return this.#text(type & 0x1f);
    if (type >= 0xe0) return this.#number(type - 0x100);
    switch (type) {
      case 0xc0:
        return this.#write('null');
      case 0xc2:
        return this.#write('false');
      case 0xc3:
        return this.#write('true');
      case 0xdc:
        return this.#list(this.#uint(2), depth);
      case 0xdd:
        return this.#list(this.#uint(4), depth);
      case 0xde:
        return this.#map(this.#uint(2), depth);
      case 0xdf:
        return this.#map(this.#uint(4), depth);
      default:
        return type >= 0xca && type <= 0xd3 ? this.#longNumber(type) : this.#longText(type);
    }
  }

  #longNumber(type: number): boolean {
    const at = this.#at;
    const width = type < 0xcc ? 4 << (type - 0xca) : 1 << (type & 3);
    this.#at += width;
    if (this.#at > this.#end) return false;
    const bytes = this.#bytes;
    switch (type) {
      case 0xca:
        return this.#float(bytes.readFloatBE(at));
      case 0xcb:
        return this.#float(bytes.readDoubleBE(at));
      case 0xcf:
        return this.#write(bytes.readBigUInt64BE(at).toString());
      case 0xd3:
        return this.#write(bytes.readBigInt64BE(at).toString());
      default:
        return this.#number(type < 0xd0 ? bytes.readUIntBE(at, width) : bytes.readIntBE(at, width));
    }
  }

  #float(value: number): boolean {
    if (!Number.isFinite(value)) return false;
    return this.#write(Number.isInteger(value) ? pyFloat(value) : String(value));
  }

  #number(value: number): boolean {
    if (value < 0 || value > 9) return this.#write(String(value));
    this.#json[this.#to++] = 0x30 + value;
    return true;
  }

  /** A short ASCII text, as it is. */
  #write(text: string): boolean {
    const json = this.#json;
    let to = this.#to;
    for (let index = 0; index < text.length; index += 1) json[to++] = text.charCodeAt(index);
    this.#to = to;
    return true;
  }

  /** A text with a longer header; false for every other type. */
  #longText(type: number): boolean {
    const width = textWidth(type);
    return width > 0 && this.#text(this.#uint(width));
  }

  #text(length: number): boolean {
    const bytes = this.#bytes;
    const start = this.#at;
    const end = start + length;
    if (end > this.#end) return false;
    const json = this.#json;
    let to = this.#to;
    let isAscii = true;
    json[to++] = 0x22;
    for (let at = start; ; at += 1) {
      if (length > LONG_TEXT) {
        const run = plainEnd(bytes, at, end);
        if (run - at > LONG_RUN) {
          to += bytes.copy(json, to, at, run);
          at = run;
        }
      }
      let byte = 0;
      while (at < end && IS_PLAIN[(byte = bytes[at] as number)] === 1) {
        json[to++] = byte;
        at += 1;
      }
      if (at >= end) break;
      if (byte >= 0x80) {
        if (isAscii && !isUtf8(bytes.subarray(start, end))) return false;
        isAscii = false;
        json[to++] = byte;
        continue;
      }
      if (byte === 0) return false;
      this.#to = to;
      this.#write(ESCAPES[byte] as string);
      to = this.#to;
    }
    json[to++] = 0x22;
    this.#to = to;
    this.#at = end;
    if (!isAscii) this.#isAscii = false;
    return true;
  }

  #list(count: number, depth: number): boolean {
    if (depth >= DEFAULT_MAX_DEPTH || count > this.#end - this.#at) return false;
    const json = this.#json;
    json[this.#to++] = 0x5b;
    for (let index = 0; index < count; index += 1) {
      if (index > 0) json[this.#to++] = 0x2c;
      if (!this.#value(depth + 1)) return false;
    }
    json[this.#to++] = 0x5d;
    return true;
  }

  #map(count: number, depth: number): boolean {
    if (depth >= DEFAULT_MAX_DEPTH || count * 2 > this.#end - this.#at) return false;
    const json = this.#json;
    const before = this.#hashed;
    if (before + count > this.#hashes.length) this.#growHashes(before + count);
    json[this.#to++] = 0x7b;
    for (let index = 0; index < count; index += 1) {
      if (index > 0) json[this.#to++] = 0x2c;
      const keyStart = this.#at;
      if (!this.#key(before, count)) return false;
      const valueStart = this.#at;
      json[this.#to++] = 0x3a;
      if (!this.#value(depth + 1)) return false;
      if (depth > 0) continue;
      const key = this.#keyText(keyStart, valueStart, this.#hashes[before + index] as number);
      this.#entries.push({ key, keyStart, valueStart, valueEnd: this.#at });
    }
    json[this.#to++] = 0x7d;
    this.#hashed = before;
    return count <= COMPARED_KEYS || this.#areDifferent(before, before + count);
  }

  /** Writes a key. False also where it may have come before in its map: their hashes are equal. */
  #key(before: number, count: number): boolean {
    const type = this.#bytes[this.#at++] ?? 0;
    const isShort = type >= 0xa0 && type < 0xc0;
    const width = isShort ? 0 : textWidth(type);
    if (!isShort && width === 0) return false;
    const length = isShort ? type & 0x1f : this.#uint(width);
    const start = this.#at;
    // One entry whose key begins so may look like an escape form.
    if (count === 1 && this.#bytes[start] === 0x24) return false;
    if (!this.#text(length)) return false;
    const hash = hashOf(this.#bytes, start, this.#at);
    const hashes = this.#hashes;
    const top = this.#hashed;
    if (count <= COMPARED_KEYS) {
      for (let at = before; at < top; at += 1) if (hashes[at] === hash) return false;
    }
    hashes[top] = hash;
    this.#hashed = top + 1;
    return true;
  }

  #areDifferent(from: number, to: number): boolean {
    // The platform sorts them, so a sender can not make it slow by its choice of hashes.
    const sorted = this.#hashes.subarray(from, to).sort();
    for (let at = 1; at < sorted.length; at += 1) if (sorted[at] === sorted[at - 1]) return false;
    return true;
  }

  #growHashes(needed: number): void {
    const grown = new Int32Array(2 * needed);
    grown.set(this.#hashes);
    this.#hashes = grown;
  }

  #keyText(keyStart: number, end: number, hash: number): string {
    const type = this.#bytes[keyStart] as number;
    const start = keyStart + 1 + (type < 0xc0 ? 0 : textWidth(type));
    const slot = hash & (KNOWN_KEYS - 1);
    const known = this.#known[slot];
    if (known?.length === end - start && isAsciiAt(this.#bytes, start, known)) return known;
    const key = this.#bytes.toString('utf8', start, end);
    if (key.length === end - start && key.length <= 0x1f) this.#known[slot] = key;
    return key;
  }

  /** A number of the header; beyond every end if bytes are missing. */
  #uint(width: number): number {
    const at = this.#at;
    this.#at += width;
    return this.#at > this.#end ? MAX_BYTES + 1 : this.#bytes.readUIntBE(at, width);
  }
}

/** Bytes of the length field of a text; 0 for other types. */
function textWidth(type: number): number {
  if (type >= 0xc4 && type <= 0xc6) return 1 << (type - 0xc4);
  return type >= 0xd9 && type <= 0xdb ? 1 << (type - 0xd9) : 0;
}

/** The offset of the first byte that a JSON text has to escape. */
function plainEnd(bytes: Buffer, start: number, end: number): number {
  let at = start;
  while (at < end && IS_PLAIN[bytes[at] as number] === 1) at += 1;
  return at;
}

/** FNV-1a. */
function hashOf(bytes: Buffer, start: number, end: number): number {
  let hash = 0x811c9dc5 | 0;
  for (let at = start; at < end; at += 1)
    hash = Math.imul(hash ^ (bytes[at] as number), 0x01000193);
  return hash;
}
