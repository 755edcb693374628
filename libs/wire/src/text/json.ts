import { WireError } from '../errors.ts';
import { DEFAULT_MAX_DEPTH } from '../msgpack/limits.ts';
import type { SaltMap, SaltValue } from '../value.ts';
import { SaltConstant, SaltDatetime, SaltFloat } from '../value.ts';
import { pyFloat } from './python-repr.ts';

const LONE_SURROGATE = /\p{Surrogate}/u;

/** JSON text for a value, and its limits for readers. */
export interface JsonText {
  readonly json: string;
  /**
   * True if `fromJson(JSON.parse(json))` gives the value back. False only for integral floats and
   * integers beyond 2^53: they are written as JSON numbers, which Python and PostgreSQL read
   * exactly and JavaScript does not.
   */
  readonly exact: boolean;
  /** True if no escape form was needed: any JSON reader sees the value as it is. */
  readonly plain: boolean;
}

/**
 * Escape forms, each a map of one entry:
 *   {"$bytes": base64}      bytes that are not UTF-8
 *   {"$text": base64}       text with NUL, which PostgreSQL's jsonb cannot store
 *   {"$utf16": base64}      text with a lone surrogate (little endian)
 *   {"$float": "nan"}       NaN, inf, -inf
 *   {"$datetime": text}     extension 78
 *   {"$const": [name, v]}   extension 79
 *   {"$map": [[k, v], …]}   a map with keys that are not text (or have NUL), or that would be
 *                           mistaken for one of these
 */
class JsonWriter {
  exact = true;
  plain = true;

  write(value: SaltValue, depth: number): string {
    if (value === null) return 'null';
    switch (typeof value) {
      case 'boolean':
        return value ? 'true' : 'false';
      case 'number':
        return this.#number(value);
      case 'bigint':
        this.exact = false;
        return value.toString();
      case 'string':
        return this.#text(value);
      default:
        return this.#object(value, depth);
    }
  }

  #number(value: number): string {
    if (Number.isSafeInteger(value)) return String(value);
    if (!Number.isFinite(value)) return this.#escape('$float', JSON.stringify(pyFloat(value)));
    // An unsafe integral number is a float to `pack` as well.
    if (Number.isInteger(value)) this.exact = false;
    return Number.isInteger(value) ? pyFloat(value) : String(value);
  }

  #text(text: string): string {
    if (LONE_SURROGATE.test(text))
      return this.#escape('$utf16', base64(Buffer.from(text, 'utf16le')));
    if (text.includes('\0')) return this.#escape('$text', base64(Buffer.from(text, 'utf8')));
    return JSON.stringify(text);
  }

  #object(value: Exclude<SaltValue & object, null>, depth: number): string {
    if (depth > DEFAULT_MAX_DEPTH) {
      throw new WireError('SALT_WIRE_DEPTH', `value nests deeper than ${DEFAULT_MAX_DEPTH}`);
    }
    if (value instanceof Map) return this.#map(value, depth);
    if (Array.isArray(value)) {
      return `[${value.map((item) => this.write(item, depth + 1)).join(',')}]`;
    }
    if (value instanceof Uint8Array) return this.#escape('$bytes', base64(value));
    if (value instanceof SaltFloat) {
      if (!Number.isFinite(value.value)) return this.#number(value.value);
      this.exact = false;
      return pyFloat(value.value);
    }
    if (value instanceof SaltDatetime) {
      return this.#escape('$datetime', JSON.stringify(value.text));
    }
    if (value instanceof SaltConstant) {
      return this.#escape('$const', this.write([value.name, value.value], depth + 1));
    }
    throw new WireError('SALT_WIRE_VALUE', 'an object of a foreign class has no JSON form');
  }

  #map(map: SaltMap, depth: number): string {
    const parts: string[] = [];
    for (const [key, value] of map) {
      if (typeof key !== 'string' || key.includes('\0') || LONE_SURROGATE.test(key)) {
        return this.#pairs(map, depth);
      }
      if (map.size === 1 && ESCAPES.has(key)) return this.#pairs(map, depth);
      parts.push(`${JSON.stringify(key)}:${this.write(value, depth + 1)}`);
    }
    return `{${parts.join(',')}}`;
  }

  #pairs(map: SaltMap, depth: number): string {
    const pairs = [...map].map(
      ([key, value]) => `[${this.write(key, depth + 1)},${this.write(value, depth + 1)}]`,
    );
    return this.#escape('$map', `[${pairs.join(',')}]`);
  }

  #escape(name: string, json: string): string {
    this.plain = false;
    return `{"${name}":${json}}`;
  }
}

function base64(bytes: Uint8Array): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return `"${buffer.toString('base64')}"`;
}

/**
 * Writes a value as JSON without losing anything silently: see JsonText. JavaScript's own reader
 * only changes the order of keys that look like integers. Throws WireError beyond 512 levels and
 * for values of foreign classes.
 */
export function toJson(value: SaltValue): JsonText {
  const writer = new JsonWriter();
  const json = writer.write(value, 0);
  return { json, exact: writer.exact, plain: writer.plain };
}

/**
 * Turns parsed JSON (also from elsewhere) into a value, undoing the escape forms of `toJson`.
 * Throws WireError beyond 512 levels and for values that JSON cannot express.
 */
export function fromJson(parsed: unknown): SaltValue {
  return read(parsed, 0);
}

function read(parsed: unknown, depth: number): SaltValue {
  if (depth > 2 * DEFAULT_MAX_DEPTH) {
    throw new WireError('SALT_WIRE_DEPTH', 'JSON nests too deep');
  }
  if (parsed === null || typeof parsed === 'boolean' || typeof parsed === 'string') return parsed;
  if (typeof parsed === 'number') return parsed;
  if (Array.isArray(parsed)) return parsed.map((item) => read(item, depth + 1));
  if (typeof parsed !== 'object') {
    throw new WireError('SALT_WIRE_VALUE', `JSON has no ${typeof parsed}`);
  }
  const entries = Object.entries(parsed);
  const [only] = entries;
  if (only !== undefined && entries.length === 1) {
    const escaped = ESCAPES.get(only[0])?.(only[1], depth);
    if (escaped !== undefined) return escaped;
  }
  const map: SaltMap = new Map();
  for (const [key, value] of entries) map.set(key, read(value, depth + 1));
  return map;
}

/** Reads the content of one escape form; undefined if it does not have that form. */
type EscapeReader = (content: unknown, depth: number) => SaltValue | undefined;

const FLOATS: ReadonlyMap<unknown, number> = new Map([
  ['nan', NaN],
  ['inf', Infinity],
  ['-inf', -Infinity],
]);

const ESCAPES: ReadonlyMap<string, EscapeReader> = new Map<string, EscapeReader>([
  ['$bytes', (content) => decode64(content)],
  ['$text', (content) => decode64(content)?.toString('utf8')],
  ['$utf16', (content) => decode64(content)?.toString('utf16le')],
  ['$float', (content) => FLOATS.get(content)],
  ['$datetime', (content) => (typeof content === 'string' ? new SaltDatetime(content) : undefined)],
  ['$const', readConstant],
  ['$map', readPairs],
]);

function decode64(content: unknown): Buffer | undefined {
  return typeof content === 'string' ? Buffer.from(content, 'base64') : undefined;
}

function readConstant(content: unknown, depth: number): SaltValue | undefined {
  if (!Array.isArray(content) || content.length !== 2) return undefined;
  const [name, value] = content as readonly unknown[];
  return typeof name === 'string' ? new SaltConstant(name, read(value, depth + 1)) : undefined;
}

function readPairs(content: unknown, depth: number): SaltValue | undefined {
  if (!Array.isArray(content)) return undefined;
  const map: SaltMap = new Map();
  for (const pair of content as readonly unknown[]) {
    if (!Array.isArray(pair) || pair.length !== 2) return undefined;
    const [key, value] = pair as readonly unknown[];
    map.set(read(key, depth + 1), read(value, depth + 1));
  }
  return map;
}
