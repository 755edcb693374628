import { WireError } from '../errors.ts';
import { DEFAULT_MAX_DEPTH } from '../msgpack/limits.ts';
import { SaltFloat, type SaltMap, type SaltValue } from '../value.ts';

const SPACE = /[ \t\n\r]*/y;
/** Plain signs of a broken string. */
const PLAIN = /[^"\\\u0000-\u001f]*/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y;
const NUMBER = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?/y;
/** Signs that are looked at one by one; for longer texts a native call is quicker. */
const SHORT = 64;
const NO_NAME = 'Expecting property name enclosed in double quotes';
const WORD = /null|true|false|NaN|-?Infinity/y;
const WORDS: ReadonlyMap<string, SaltValue> = new Map<string, SaltValue>([
  ['null', null],
  ['true', true],
  ['false', false],
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['-Infinity', Number.NEGATIVE_INFINITY],
]);

/** As Python's `sys.get_int_max_str_digits()`: the time grows with the square. */
const INTEGER_MAX = 4_300;

/**
 * Reads JSON as Python's `json.loads`: `1.0` stays a float, integers stay exact, maps
 * keep their order.
 * @param valuesMax values and keys that are read at most, some microseconds each
 * @throws WireError (SALT_WIRE_TYPE with Python's text, SALT_WIRE_DEPTH, SALT_WIRE_COST)
 */
export function readJson(text: string, valuesMax = Infinity): SaltValue {
  const reader = new Reader(text, valuesMax);
  const value = reader.value(0);
  reader.end();
  return value;
}

class Reader {
  readonly #text: string;
  #left: number;
  #at = 0;

  constructor(text: string, valuesMax: number) {
    this.#text = text;
    this.#left = valuesMax;
  }

  #match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text);
    if (found !== null) this.#at += found[0].length;
    return found;
  }

  #fail(words: string, at = this.#at): never {
    const { line, column, char } = placeOf(this.#text, at);
    throw new WireError('SALT_WIRE_TYPE', `${words}: line ${line} column ${column} (char ${char})`);
  }

  #space(): void {
    const to = this.#at + SHORT;
    for (;;) {
      if (this.#at === to) return void this.#match(SPACE);
      const code = this.#text.charCodeAt(this.#at);
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return;
      this.#at += 1;
    }
  }

  #skip(character: string): boolean {
    this.#space();
    if (this.#text[this.#at] !== character) return false;
    this.#at += 1;
    return true;
  }

  #spend(): void {
    this.#left -= 1;
    if (this.#left < 0) throw new WireError('SALT_WIRE_COST', 'JSON has too many values');
  }

  end(): void {
    this.#space();
    if (this.#at < this.#text.length) this.#fail('Extra data');
  }

  value(depth: number): SaltValue {
    if (depth > DEFAULT_MAX_DEPTH) throw new WireError('SALT_WIRE_DEPTH', 'JSON nests too deeply');
    this.#spend();
    if (this.#skip('{')) return this.#map(depth);
    if (this.#skip('[')) return this.#list(depth);
    if (this.#text[this.#at] === '"') return this.#string();
    const word = this.#match(WORD);
    if (word !== null) return WORDS.get(word[0]) ?? null;
    const number = this.#match(NUMBER);
    if (number === null) this.#fail('Expecting value');
    const plain = Number(number[0]);
    if (number[1] === undefined && number[2] === undefined) {
      if (number[0].length > INTEGER_MAX) {
        this.#fail('Exceeds the limit (4300 digits) for integer string conversion');
      }
      return Number.isSafeInteger(plain) ? plain : BigInt(number[0]);
    }
    return Number.isInteger(plain) ? new SaltFloat(plain) : plain;
  }

  /** A large text may have any number of escapes: an expression for all of it would run deep. */
  #string(): string {
    const start = this.#at;
    const short = this.#shortString(start);
    if (short !== undefined) return short;
    const end = this.#endOfString(start);
    if (end === -1) return this.#failString(start);
    try {
      const value = JSON.parse(this.#text.slice(start, end + 1)) as string;
      this.#at = end + 1;
      return value;
    } catch {
      return this.#failString(start);
    }
  }

  /** A string without escapes, as most keys are; undefined for others. */
  #shortString(start: number): string | undefined {
    const text = this.#text;
    const to = Math.min(text.length, start + SHORT);
    for (let at = start + 1; at < to; at += 1) {
      const code = text.charCodeAt(at);
      if (code === 0x22) {
        this.#at = at + 1;
        return text.slice(start + 1, at);
      }
      if (code === 0x5c || code < 0x20) return undefined;
    }
    return undefined;
  }

  /** The position of the quote that ends a string; -1 without one. */
  #endOfString(start: number): number {
    for (let from = start + 1; ;) {
      const end = this.#text.indexOf('"', from);
      if (end === -1) return -1;
      let slashes = 0;
      while (this.#text.charCodeAt(end - 1 - slashes) === 0x5c) slashes += 1;
      if (slashes % 2 === 0) return end;
      from = end + 1;
    }
  }

  #failString(start: number): never {
    this.#at = start + 1;
    do this.#match(PLAIN);
    while (this.#match(ESCAPE) !== null);
    const next = this.#text[this.#at];
    if (next === undefined) return this.#fail('Unterminated string starting at', start);
    if (next !== '\\') return this.#fail('Invalid control character at');
    const escape = this.#text[this.#at + 1];
    if (escape === undefined) return this.#fail('Unterminated string starting at', start);
    if (escape === 'u') return this.#fail('Invalid \\uXXXX escape', this.#at + 1);
    return this.#fail('Invalid \\escape');
  }

  #list(depth: number): SaltValue[] {
    const list: SaltValue[] = [];
    if (this.#skip(']')) return list;
    do list.push(this.value(depth + 1));
    while (this.#skip(','));
    if (!this.#skip(']')) this.#fail("Expecting ',' delimiter");
    return list;
  }

  #map(depth: number): SaltMap {
    const map: SaltMap = new Map();
    if (this.#skip('}')) return map;
    do {
      this.#space();
      if (this.#text[this.#at] !== '"') this.#fail(NO_NAME);
      this.#spend();
      const key = this.#string();
      if (!this.#skip(':')) this.#fail("Expecting ':' delimiter");
      map.set(key, this.value(depth + 1));
    } while (this.#skip(','));
    if (!this.#skip('}')) this.#fail("Expecting ',' delimiter");
    return map;
  }
}

/** A place as Python names it: it counts characters, not units of UTF-16. */
function placeOf(text: string, end: number) {
  let line = 1;
  let char = 0;
  let lineAt = 0;
  for (let at = 0; at < end; at += 1, char += 1) {
    const code = text.charCodeAt(at);
    if (code === 0x0a) {
      line += 1;
      lineAt = char + 1;
    } else if (code >= 0xd800 && code < 0xdc00) {
      const next = text.charCodeAt(at + 1);
      if (at + 1 < end && next >= 0xdc00 && next < 0xe000) at += 1;
    }
  }
  return { line, column: char - lineAt + 1, char };
}
