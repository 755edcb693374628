import { WireError } from '../errors.ts';
import type { SaltMap, SaltValue } from '../value.ts';
import { SaltConstant, SaltDatetime, SaltFloat } from '../value.ts';
import { EXT_CONSTANT, EXT_DATETIME } from './decode.ts';
import { DEFAULT_MAX_DEPTH } from './limits.ts';

/**
 * `raw`: the old specification without str8 and bin, as Salt packs for 4505 and 4506. `bin`: with
 * both, as Salt packs for its files and event sockets.
 */
export type PackMode = 'raw' | 'bin';

const FIRST_BYTES = 256;
/** Up to this length writing a text here is cheaper than a call into native code. */
const SHORT_TEXT_UNITS = 40;
const MIN_INT64 = -(2n ** 63n);
const MAX_UINT64 = 2n ** 64n - 1n;

/** Writes one msgpack message; one object per message. */
class Encoder {
  readonly #bin: boolean;
  #bytes = Buffer.allocUnsafe(FIRST_BYTES);
  #at = 0;

  constructor(mode: PackMode) {
    this.#bin = mode === 'bin';
  }

  finish(): Buffer {
    return this.#bytes.subarray(0, this.#at);
  }

  write(value: SaltValue, depth: number): void {
    switch (typeof value) {
      case 'string':
        return this.#text(value);
      case 'number':
        return this.#number(value);
      case 'boolean':
        return this.#one(value ? 0xc3 : 0xc2);
      case 'bigint':
        return this.#bigint(value);
      case 'object':
        return value === null ? this.#one(0xc0) : this.#object(value, depth);
      default:
        throw new WireError('SALT_WIRE_VALUE', `a ${typeof value} cannot be packed`);
    }
  }

  #object(value: Exclude<SaltValue & object, null>, depth: number): void {
    if (value instanceof Uint8Array) return this.#blob(value);
    if (value instanceof SaltFloat) return this.#float(value.value);
    if (value instanceof SaltDatetime) {
      return this.#ext(EXT_DATETIME, Buffer.from(value.text, 'latin1'));
    }
    if (depth >= DEFAULT_MAX_DEPTH) {
      throw new WireError('SALT_WIRE_DEPTH', `value nests deeper than ${DEFAULT_MAX_DEPTH}`);
    }
    if (value instanceof Map) return this.#map(value, depth);
    if (Array.isArray(value)) return this.#list(value, depth);
    if (value instanceof SaltConstant) {
      return this.#ext(EXT_CONSTANT, packAt([value.name, value.value], 'bin', depth + 1));
    }
    throw new WireError('SALT_WIRE_VALUE', 'an object of a foreign class cannot be packed');
  }

  /** Makes room for `count` bytes and returns their offset. */
  #room(count: number): number {
    const start = this.#at;
    const end = start + count;
    if (end > this.#bytes.length) {
      const wider = Buffer.allocUnsafe(Math.max(end, this.#bytes.length * 2));
      this.#bytes.copy(wider, 0, 0, start);
      this.#bytes = wider;
    }
    this.#at = end;
    return start;
  }

  #one(byte: number): void {
    const start = this.#room(1);
    this.#bytes[start] = byte;
  }

  #head8(type: number, value: number): void {
    const start = this.#room(2);
    this.#bytes[start] = type;
    this.#bytes[start + 1] = value;
  }

  #head16(type: number, value: number): void {
    const start = this.#room(3);
    this.#bytes[start] = type;
    this.#bytes.writeUInt16BE(value, start + 1);
  }

  #head32(type: number, value: number): void {
    const start = this.#room(5);
    this.#bytes[start] = type;
    this.#bytes.writeUInt32BE(value, start + 1);
  }

  #number(value: number): void {
    if (!Number.isSafeInteger(value)) return this.#float(value);
    if (value >= 0) {
      if (value < 0x80) return this.#one(value);
      if (value <= 0xff) return this.#head8(0xcc, value);
      if (value <= 0xffff) return this.#head16(0xcd, value);
      if (value <= 0xffffffff) return this.#head32(0xce, value);
      return this.#bigint(BigInt(value));
    }
    if (value >= -0x20) return this.#one(value + 0x100);
    if (value >= -0x80) return this.#head8(0xd0, value + 0x100);
    if (value >= -0x8000) return this.#head16(0xd1, value + 0x10000);
    if (value >= -0x80000000) return this.#head32(0xd2, value + 0x100000000);
    return this.#bigint(BigInt(value));
  }

  #bigint(value: bigint): void {
    // Salt: salt/payload.py dumps sends an integer beyond msgpack's range as decimal text.
    if (value > MAX_UINT64 || value < MIN_INT64) return this.#text(value.toString());
    if (value >= -0x80000000n && value <= 0xffffffffn) return this.#number(Number(value));
    const start = this.#room(9);
    this.#bytes[start] = value >= 0n ? 0xcf : 0xd3;
    this.#bytes.writeBigUInt64BE(BigInt.asUintN(64, value), start + 1);
  }

  #float(value: number): void {
    const start = this.#room(9);
    this.#bytes[start] = 0xcb;
    this.#bytes.writeDoubleBE(value, start + 1);
  }

  #text(text: string): void {
    if (text.length <= SHORT_TEXT_UNITS && this.#asciiText(text)) return;
    const length = Buffer.byteLength(text, 'utf8');
    this.#textHead(length);
    const start = this.#room(length);
    this.#bytes.write(text, start, length, 'utf8');
  }

  /** Writes a short text if it is ASCII: most are, and a call into native code costs more. */
  #asciiText(text: string): boolean {
    const before = this.#at;
    this.#textHead(text.length);
    const start = this.#room(text.length);
    const bytes = this.#bytes;
    for (let index = 0; index < text.length; index += 1) {
      const unit = text.charCodeAt(index);
      if (unit >= 0x80) {
        this.#at = before;
        return false;
      }
      bytes[start + index] = unit;
    }
    return true;
  }

  #textHead(length: number): void {
    if (length <= 0x1f) this.#one(0xa0 + length);
    else if (length <= 0xff && this.#bin) this.#head8(0xd9, length);
    else if (length <= 0xffff) this.#head16(0xda, length);
    else this.#head32(0xdb, length);
  }

  #blob(bytes: Uint8Array): void {
    const length = bytes.length;
    if (!this.#bin) this.#textHead(length);
    else if (length <= 0xff) this.#head8(0xc4, length);
    else if (length <= 0xffff) this.#head16(0xc5, length);
    else this.#head32(0xc6, length);
    const start = this.#room(length);
    this.#bytes.set(bytes, start);
  }

  #list(list: readonly SaltValue[], depth: number): void {
    const count = list.length;
    if (count <= 0x0f) this.#one(0x90 + count);
    else if (count <= 0xffff) this.#head16(0xdc, count);
    else this.#head32(0xdd, count);
    for (const item of list) this.write(item, depth + 1);
  }

  #map(map: SaltMap, depth: number): void {
    const count = map.size;
    if (count <= 0x0f) this.#one(0x80 + count);
    else if (count <= 0xffff) this.#head16(0xde, count);
    else this.#head32(0xdf, count);
    for (const [key, value] of map) {
      if (typeof key === 'object' && (Array.isArray(key) || key instanceof Map)) {
        throw new WireError('SALT_WIRE_KEY', 'a list or a map is no key');
      }
      this.write(key, depth + 1);
      this.write(value, depth + 1);
    }
  }

  #ext(code: number, data: Uint8Array): void {
    const length = data.length;
    const fixed = [1, 2, 4, 8, 16].indexOf(length);
    if (fixed >= 0) this.#one(0xd4 + fixed);
    else if (length <= 0xff) this.#head8(0xc7, length);
    else if (length <= 0xffff) this.#head16(0xc8, length);
    else this.#head32(0xc9, length);
    const start = this.#room(1 + length);
    this.#bytes[start] = code;
    this.#bytes.set(data, start + 1);
  }
}

function packAt(value: SaltValue, mode: PackMode, depth: number): Buffer {
  const encoder = new Encoder(mode);
  encoder.write(value, depth);
  return encoder.finish();
}

/**
 * Packs a value as Salt would. Numbers that are safe integers become integers, all others floats;
 * integers beyond 64 bits become decimal text; a lone surrogate becomes U+FFFD.
 * Throws WireError for values of foreign classes, undefined, and nesting (or cycles) beyond 512.
 */
export function pack(value: SaltValue, mode: PackMode = 'raw'): Buffer {
  return packAt(value, mode, 0);
}
