import { WireError } from '../errors.ts';
import type { SaltMap, SaltValue } from '../value.ts';
import { SaltConstant, SaltDatetime, SaltFloat } from '../value.ts';
import type { FullLimits, UnpackLimits } from './limits.ts';
import {
  COST_BOXED,
  COST_LIST,
  COST_OBJECT,
  COST_SCALAR,
  COST_TEXT,
  costOfNumberKey,
  fullLimits,
  isNumberType,
} from './limits.ts';
import { asBuffer, isAsciiAt, textOrBytes } from './text.ts';

/** Extension code of a datetime (Salt: salt/payload.py dumps, ext_type_encoder). */
export const EXT_DATETIME = 78;
/** Extension code of a named constant (Salt: salt/payload.py, since 3007). */
export const EXT_CONSTANT = 79;

const DATETIME_TEXT = /^\d{8}T\d\d:\d\d:\d\d\.\d{1,6}$/;

/** A float64 as this library returns it: integral ones boxed, the rest plain. */
function floatValue(value: number): SaltValue {
  return Number.isInteger(value) ? new SaltFloat(value) : value;
}

/** Reads one msgpack message; one object per message. */
export class Decoder {
  readonly #bytes: Buffer;
  readonly #limits: FullLimits;
  #at: number;
  readonly #end: number;
  #cost = 0;
  readonly #keys: (string | undefined)[] = [];

  constructor(bytes: Buffer, start: number, end: number, limits: FullLimits) {
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
    this.#limits = limits;
  }

  /** Where the next value begins. */
  get at(): number {
    return this.#at;
  }

  /** Cells spent so far. */
  get cost(): number {
    return this.#cost;
  }

  /** Reads the next value; `depth` is the number of lists and maps around it. */
  read(depth: number): SaltValue {
    const type = this.#byte();
    if (type < 0x80) return this.#pay(COST_SCALAR, type);
    if (type < 0x90) return this.#map(type & 0x0f, depth);
    if (type < 0xa0) return this.#list(type & 0x0f, depth);
    if (type < 0xc0) return this.#text(type & 0x1f);
    if (type >= 0xe0) return this.#pay(COST_SCALAR, type - 0x100);
    return this.#readLong(type, depth);
  }

  #readLong(type: number, depth: number): SaltValue {
    switch (type) {
      case 0xc0:
        return this.#pay(COST_SCALAR, null);
      case 0xc2:
        return this.#pay(COST_SCALAR, false);
      case 0xc3:
        return this.#pay(COST_SCALAR, true);
      case 0xc4:
      case 0xd9:
        return this.#text(this.#byte());
      case 0xc5:
      case 0xda:
        return this.#text(this.#uint(2));
      case 0xc6:
      case 0xdb:
        return this.#text(this.#uint(4));
      case 0xc7:
        return this.#ext(this.#byte(), depth);
      case 0xc8:
        return this.#ext(this.#uint(2), depth);
      case 0xc9:
        return this.#ext(this.#uint(4), depth);
      case 0xdc:
        return this.#list(this.#uint(2), depth);
      case 0xdd:
        return this.#list(this.#uint(4), depth);
      case 0xde:
        return this.#map(this.#uint(2), depth);
      case 0xdf:
        return this.#map(this.#uint(4), depth);
      default:
        return this.#readNumber(type, depth);
    }
  }

  #readNumber(type: number, depth: number): SaltValue {
    switch (type) {
      case 0xca:
        return this.#pay(COST_BOXED, floatValue(this.#bytes.readFloatBE(this.#take(4))));
      case 0xcb:
        return this.#pay(COST_BOXED, floatValue(this.#bytes.readDoubleBE(this.#take(8))));
      case 0xcc:
        return this.#pay(COST_SCALAR, this.#byte());
      case 0xcd:
        return this.#pay(COST_SCALAR, this.#uint(2));
      case 0xce:
        return this.#pay(COST_SCALAR, this.#uint(4));
      case 0xcf:
        return this.#pay(COST_BOXED, safeInt(this.#bytes.readBigUInt64BE(this.#take(8))));
      case 0xd0:
        return this.#pay(COST_SCALAR, this.#bytes.readInt8(this.#take(1)));
      case 0xd1:
        return this.#pay(COST_SCALAR, this.#bytes.readInt16BE(this.#take(2)));
      case 0xd2:
        return this.#pay(COST_SCALAR, this.#bytes.readInt32BE(this.#take(4)));
      case 0xd3:
        return this.#pay(COST_BOXED, safeInt(this.#bytes.readBigInt64BE(this.#take(8))));
      case 0xd4:
      case 0xd5:
      case 0xd6:
      case 0xd7:
      case 0xd8:
        return this.#ext(1 << (type - 0xd4), depth);
      default:
        throw new WireError('SALT_WIRE_TYPE', `0x${type.toString(16)} begins no msgpack value`);
    }
  }

  #take(count: number): number {
    const start = this.#at;
    if (count > this.#end - start) {
      throw new WireError('SALT_WIRE_TRUNCATED', `message ends ${start + count - this.#end} short`);
    }
    this.#at = start + count;
    return start;
  }

  #byte(): number {
    return this.#bytes[this.#take(1)] as number;
  }

  #uint(width: 2 | 4): number {
    const start = this.#take(width);
    return width === 2 ? this.#bytes.readUInt16BE(start) : this.#bytes.readUInt32BE(start);
  }

  #pay<T>(cells: number, value: T): T {
    this.#cost += cells;
    if (this.#cost > this.#limits.maxCost) {
      throw new WireError('SALT_WIRE_COST', 'message has too many values');
    }
    return value;
  }

  #text(length: number): SaltValue {
    const start = this.#take(length);
    return this.#pay(COST_TEXT, textOrBytes(this.#bytes, start, start + length));
  }

  #enter(count: number, bytesEach: number, depth: number): void {
    if (depth >= this.#limits.maxDepth) {
      throw new WireError('SALT_WIRE_DEPTH', `message nests deeper than ${this.#limits.maxDepth}`);
    }
    // Each element has at least one byte: refuse a huge count before allocating anything.
    if (count * bytesEach > this.#end - this.#at) {
      throw new WireError('SALT_WIRE_TRUNCATED', `message ends before its ${count} elements`);
    }
  }

  #list(count: number, depth: number): SaltValue {
    this.#enter(count, 1, depth);
    const list: SaltValue[] = this.#pay(COST_LIST, []);
    for (let index = 0; index < count; index += 1) list.push(this.read(depth + 1));
    return list;
  }

  #map(count: number, depth: number): SaltValue {
    this.#enter(count, 2, depth);
    const map: SaltMap = this.#pay(COST_OBJECT, new Map<SaltValue, SaltValue>());
    let numbers = 0;
    for (let index = 0; index < count; index += 1) {
      const type = this.#bytes[this.#at] ?? 0;
      refuseContainerKey(type);
      if (isNumberType(type)) this.#pay(costOfNumberKey(numbers++), null);
      const key = this.#key(depth + 1);
      map.set(key, this.read(depth + 1));
    }
    return map;
  }

  #ext(length: number, depth: number): SaltValue {
    return this.readExtension(this.#bytes.readInt8(this.#take(1)), length, depth);
  }

  /** Reads a key; short texts among them recur, and are made once. */
  #key(depth: number): SaltValue {
    const type = this.#bytes[this.#at] ?? 0;
    const length = type - 0xa0;
    if (length <= 0 || length > 0x1f || length >= this.#end - this.#at) return this.read(depth);
    const bytes = this.#bytes;
    const start = this.#at + 1;
    const slot =
      (length + (bytes[start] as number) * 7 + (bytes[this.#at + length] as number)) & 63;
    const known = this.#keys[slot];
    if (known?.length === length && isAsciiAt(bytes, start, known)) {
      this.#at = start + length;
      return this.#pay(COST_TEXT, known);
    }
    const key = this.read(depth);
    // Equal lengths in characters and bytes mean ASCII. Other texts could be mistaken for bytes
    // that are not UTF-8.
    if (typeof key === 'string' && key.length === length) this.#keys[slot] = key;
    return key;
  }

  /** Reads the data of an extension whose header has been read. */
  readExtension(code: number, length: number, depth: number): SaltValue {
    const start = this.#take(length);
    const end = start + length;
    this.#pay(COST_OBJECT, null);
    if (code === EXT_DATETIME) return datetimeFrom(this.#bytes.toString('latin1', start, end));
    if (code !== EXT_CONSTANT) return textOrBytes(this.#bytes, start, end);
    if (depth >= this.#limits.maxDepth) {
      throw new WireError('SALT_WIRE_DEPTH', `message nests deeper than ${this.#limits.maxDepth}`);
    }
    const left = { ...this.#limits, maxCost: this.#limits.maxCost - this.#cost };
    const inner = new Decoder(this.#bytes, start, end, left);
    const pair = inner.read(depth + 1);
    this.#pay(inner.cost, null);
    if (inner.at !== end || !Array.isArray(pair) || pair.length !== 2) {
      throw new WireError('SALT_WIRE_VALUE', 'a constant is not a pair of name and value');
    }
    const [name, value] = pair;
    if (typeof name !== 'string' || value === undefined) {
      throw new WireError('SALT_WIRE_VALUE', 'the name of a constant is not text');
    }
    return new SaltConstant(name, value);
  }
}

/**
 * Throws SALT_WIRE_KEY if this type byte begins a list or a map: Python can not hash these as keys
 * either.
 */
export function refuseContainerKey(type: number): void {
  if ((type >= 0x80 && type < 0xa0) || (type >= 0xdc && type <= 0xdf)) {
    throw new WireError('SALT_WIRE_KEY', 'a list or a map is no key');
  }
}

function datetimeFrom(text: string): SaltDatetime {
  if (!DATETIME_TEXT.test(text)) {
    throw new WireError('SALT_WIRE_VALUE', 'extension 78 is no datetime');
  }
  return new SaltDatetime(text);
}

function safeInt(value: bigint): number | bigint {
  return value >= -MAX_SAFE && value <= MAX_SAFE ? Number(value) : value;
}

const MAX_SAFE = BigInt(Number.MAX_SAFE_INTEGER);

/**
 * Reads one msgpack message. str, raw and bin become text if they are valid UTF-8, else bytes (a
 * view of the input, not a copy); maps become Map; integers beyond 2^53 bigint. Throws WireError:
 * bytes missing or left over, unknown type, a limit exceeded.
 */
export function unpack(bytes: Uint8Array, limits?: UnpackLimits): SaltValue {
  const full = fullLimits(limits);
  if (bytes.length > full.maxBytes) {
    throw new WireError('SALT_WIRE_SIZE', `message of ${bytes.length} bytes is too long`);
  }
  const buffer = asBuffer(bytes);
  const decoder = new Decoder(buffer, 0, buffer.length, full);
  const value = decoder.read(0);
  if (decoder.at !== buffer.length) {
    throw new WireError('SALT_WIRE_TRAILING', `${buffer.length - decoder.at} bytes left over`);
  }
  return value;
}
