import { WireError } from '../errors.ts';
import type { Fields, SaltValue } from '../value.ts';
import { Decoder, EXT_CONSTANT, EXT_DATETIME, refuseContainerKey } from './decode.ts';
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
import { asBuffer, textOrBytes } from './text.ts';

/** Bytes after the type byte of 0xca..0xd3: float32, float64, uint8..64, int8..64. */
const NUMBER_WIDTHS = [4, 8, 1, 2, 4, 8, 1, 2, 4, 8] as const;

/** One entry of a scanned map; offsets are into the scanned bytes. */
export interface ScannedEntry {
  /** The key, or null when it is not text. */
  readonly key: string | null;
  readonly keyStart: number;
  readonly valueStart: number;
  readonly valueEnd: number;
}

/**
 * Walks over values without making them. It refuses the bytes that `unpack` refuses (truncation,
 * unknown types, nesting, keys that are lists or maps), so that bytes passed on unread can be read
 * later.
 */
export class Scanner {
  readonly #bytes: Buffer;
  readonly #limits: FullLimits;
  #at: number;
  #cost = 0;

  constructor(bytes: Buffer, start: number, limits: FullLimits) {
    this.#bytes = bytes;
    this.#at = start;
    this.#limits = limits;
  }

  /** Where the next value begins. */
  get at(): number {
    return this.#at;
  }

  /** Reads the header of a map and returns its number of entries; throws SALT_WIRE_TYPE. */
  mapHeader(): number {
    const type = this.#byte();
    this.#pay(COST_OBJECT);
    let count: number;
    if (type >= 0x80 && type <= 0x8f) count = type & 0x0f;
    else if (type === 0xde) count = this.#uint(2);
    else if (type === 0xdf) count = this.#uint(4);
    else throw new WireError('SALT_WIRE_TYPE', 'message is not a map');
    this.#enter(count * 2, 0);
    return count;
  }

  /** Steps over the next value; `depth` is the number of lists and maps around it. */
  skip(depth: number): void {
    const type = this.#byte();
    if (type < 0x80 || type >= 0xe0) this.#pay(COST_SCALAR);
    else if (type < 0x90) this.#skipMap(type & 0x0f, depth);
    else if (type < 0xa0) this.#skipList(type & 0x0f, depth);
    else if (type < 0xc0) this.#skipText(type & 0x1f);
    else this.#skipLong(type, depth);
  }

  /** Skips a key, no list or map, after `numbers` number keys; returns 1 for one more of these. */
  skipKey(depth: number, numbers: number): 0 | 1 {
    const type = this.#bytes[this.#at] ?? 0;
    refuseContainerKey(type);
    const isNumber = isNumberType(type);
    if (isNumber) this.#pay(costOfNumberKey(numbers));
    this.skip(depth);
    return isNumber ? 1 : 0;
  }

  #skipLong(type: number, depth: number): void {
    switch (type) {
      case 0xc0:
      case 0xc2:
      case 0xc3:
        return this.#pay(COST_SCALAR);
      case 0xc4:
      case 0xd9:
        return this.#skipText(this.#byte());
      case 0xc5:
      case 0xda:
        return this.#skipText(this.#uint(2));
      case 0xc6:
      case 0xdb:
        return this.#skipText(this.#uint(4));
      case 0xc7:
        return this.#skipExt(this.#byte(), depth);
      case 0xc8:
        return this.#skipExt(this.#uint(2), depth);
      case 0xc9:
        return this.#skipExt(this.#uint(4), depth);
      case 0xdc:
        return this.#skipList(this.#uint(2), depth);
      case 0xdd:
        return this.#skipList(this.#uint(4), depth);
      case 0xde:
        return this.#skipMap(this.#uint(2), depth);
      case 0xdf:
        return this.#skipMap(this.#uint(4), depth);
      default:
        return this.#skipNumber(type, depth);
    }
  }

  #skipNumber(type: number, depth: number): void {
    if (type >= 0xd4 && type <= 0xd8) return this.#skipExt(1 << (type - 0xd4), depth);
    const width = NUMBER_WIDTHS[type - 0xca];
    if (width === undefined) {
      throw new WireError('SALT_WIRE_TYPE', `0x${type.toString(16)} begins no msgpack value`);
    }
    this.#take(width);
    this.#pay(width === 8 || type === 0xca ? COST_BOXED : COST_SCALAR);
  }

  #skipText(length: number): void {
    this.#take(length);
    this.#pay(COST_TEXT);
  }

  #skipList(count: number, depth: number): void {
    this.#pay(COST_LIST);
    this.#enter(count, depth);
    for (let index = 0; index < count; index += 1) this.skip(depth + 1);
  }

  #skipMap(count: number, depth: number): void {
    this.#pay(COST_OBJECT);
    this.#enter(count * 2, depth);
    let numbers = 0;
    for (let index = 0; index < count; index += 1) {
      numbers += this.skipKey(depth + 1, numbers);
      this.skip(depth + 1);
    }
  }

  #skipExt(length: number, depth: number): void {
    const code = this.#bytes.readInt8(this.#take(1));
    const start = this.#take(length);
    if (code !== EXT_DATETIME && code !== EXT_CONSTANT) return this.#pay(COST_OBJECT);
    // Rare, and not every such extension is readable: read it to be sure.
    const left = { ...this.#limits, maxCost: this.#limits.maxCost - this.#cost };
    const decoder = new Decoder(this.#bytes, start, this.#at, left);
    decoder.readExtension(code, length, depth);
    this.#pay(decoder.cost);
  }

  #enter(elements: number, depth: number): void {
    if (depth >= this.#limits.maxDepth) {
      throw new WireError('SALT_WIRE_DEPTH', `message nests deeper than ${this.#limits.maxDepth}`);
    }
    if (elements > this.#bytes.length - this.#at) {
      throw new WireError('SALT_WIRE_TRUNCATED', `message ends before its ${elements} elements`);
    }
  }

  #take(count: number): number {
    const start = this.#at;
    if (count > this.#bytes.length - start) {
      const short = start + count - this.#bytes.length;
      throw new WireError('SALT_WIRE_TRUNCATED', `message ends ${short} bytes short`);
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

  #pay(cells: number): void {
    this.#cost += cells;
    if (this.#cost > this.#limits.maxCost) {
      throw new WireError('SALT_WIRE_COST', 'message has too many values');
    }
  }
}

/** A scanned map: its keys, and the offsets of its values. */
export class MapScan implements Fields {
  readonly bytesIn: Buffer;
  readonly entries: readonly ScannedEntry[];

  constructor(bytes: Buffer, entries: readonly ScannedEntry[]) {
    this.bytesIn = bytes;
    this.entries = entries;
  }

  /** True if the map has this text key. */
  has(key: string): boolean {
    return this.range(key) !== undefined;
  }

  /** The offsets of the value of `key`; of a repeated key the last one counts, as in Python. */
  range(key: string): ScannedEntry | undefined {
    for (let index = this.entries.length - 1; index >= 0; index -= 1) {
      const entry = this.entries[index];
      if (entry?.key === key) return entry;
    }
    return undefined;
  }

  /** The packed bytes of the value of `key`: a view, not a copy. */
  raw(key: string): Buffer | undefined {
    const entry = this.range(key);
    return entry && this.bytesIn.subarray(entry.valueStart, entry.valueEnd);
  }

  /** The value of `key`, read; undefined when absent. */
  value(key: string, limits?: UnpackLimits): SaltValue | undefined {
    const entry = this.range(key);
    if (entry === undefined) return undefined;
    return new Decoder(this.bytesIn, entry.valueStart, entry.valueEnd, fullLimits(limits)).read(1);
  }

  /** As `value`, within the limits of `unpack`: a scan is read as a map is. */
  get(key: string): SaltValue | undefined {
    return this.value(key);
  }

  /** The content of a value that reads as text or bytes: a view. */
  bytes(key: string): Buffer | undefined {
    const entry = this.range(key);
    if (entry === undefined) return undefined;
    const start = contentStart(this.bytesIn, entry.valueStart);
    return start < 0 ? undefined : this.bytesIn.subarray(start, entry.valueEnd);
  }

  /** The text of `key`; undefined when absent, of another type, or not UTF-8. */
  text(key: string): string | undefined {
    const entry = this.range(key);
    if (entry === undefined) return undefined;
    return textAt(this.bytesIn, entry.valueStart, entry.valueEnd);
  }
}

/** The text between these offsets; undefined for any other value. */
function textAt(bytes: Buffer, start: number, end: number): string | undefined {
  const content = contentStart(bytes, start);
  if (content < 0) return undefined;
  const text = textOrBytes(bytes, content, end);
  return typeof text === 'string' ? text : undefined;
}

/** Where the content of a text or byte value begins; -1 for all other values. */
function contentStart(bytes: Buffer, start: number): number {
  const type = bytes[start] as number;
  if (type >= 0xa0 && type <= 0xbf) return start + 1;
  if (type === 0xc4 || type === 0xd9) return start + 2;
  if (type === 0xc5 || type === 0xda) return start + 3;
  if (type === 0xc6 || type === 0xdb) return start + 5;
  return extContentStart(bytes, start);
}

/** Salt's receivers read an extension of an unknown code as its data: `id` may be written so. */
function extContentStart(bytes: Buffer, start: number): number {
  const type = bytes[start] as number;
  let head: number;
  if (type >= 0xd4 && type <= 0xd8) head = 1;
  else if (type === 0xc7) head = 2;
  else if (type === 0xc8) head = 3;
  else if (type === 0xc9) head = 5;
  else return -1;
  const code = bytes.readInt8(start + head);
  return code === EXT_DATETIME || code === EXT_CONSTANT ? -1 : start + head + 1;
}

/**
 * Scans the top level of a packed map without making its values. Throws WireError for anything that
 * `unpack` would refuse, and for other values than maps.
 */
export function scanMap(bytes: Uint8Array, limits?: UnpackLimits): MapScan {
  const full = fullLimits(limits);
  if (bytes.length > full.maxBytes) {
    throw new WireError('SALT_WIRE_SIZE', `message of ${bytes.length} bytes is too long`);
  }
  const buffer = asBuffer(bytes);
  const scanner = new Scanner(buffer, 0, full);
  const count = scanner.mapHeader();
  const entries: ScannedEntry[] = [];
  let numbers = 0;
  for (let index = 0; index < count; index += 1) {
    const keyStart = scanner.at;
    numbers += scanner.skipKey(1, numbers);
    const valueStart = scanner.at;
    scanner.skip(1);
    const key = textAt(buffer, keyStart, valueStart) ?? null;
    entries.push({ key, keyStart, valueStart, valueEnd: scanner.at });
  }
  if (scanner.at !== buffer.length) {
    throw new WireError('SALT_WIRE_TRAILING', `${buffer.length - scanner.at} bytes left over`);
  }
  return new MapScan(buffer, entries);
}
