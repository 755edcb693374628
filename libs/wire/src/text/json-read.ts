import { WireError } from '../errors.ts';
import { DEFAULT_MAX_DEPTH } from '../msgpack/limits.ts';
import { SaltFloat, type SaltMap, type SaltValue } from '../value.ts';

const SPACE = /[ \t\n\r]*/y;
const STRING = /"(?:[^"\\]|\\[^])*"/y;
/** The valid start of a broken string, up to an invalid escape. */
const BROKEN_STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*/y;
const NUMBER = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?/y;
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
 * @throws WireError (SALT_WIRE_TYPE with Python's text, SALT_WIRE_DEPTH)
 */
export function readJson(text: string): SaltValue {
  const reader = new Reader(text);
  const value = reader.value(0);
  reader.end();
  return value;
}

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  #match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text);
    if (found !== null) this.#at += found[0].length;
    return found;
  }

  #fail(words: string, at = this.#at): never {
    const before = this.#text.slice(0, at);
    const line = before.split('\n').length;
    // Python counts characters, not units of UTF-16.
    const column = [...before.slice(before.lastIndexOf('\n') + 1)].length + 1;
    const place = `line ${line} column ${column} (char ${[...before].length})`;
    throw new WireError('SALT_WIRE_TYPE', `${words}: ${place}`);
  }

  #skip(character: string): boolean {
    this.#match(SPACE);
    if (this.#text[this.#at] !== character) return false;
    this.#at += 1;
    return true;
  }

  end(): void {
    this.#match(SPACE);
    if (this.#at < this.#text.length) this.#fail('Extra data');
  }

  value(depth: number): SaltValue {
    if (depth > DEFAULT_MAX_DEPTH) throw new WireError('SALT_WIRE_DEPTH', 'JSON nests too deeply');
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

  #string(): string {
    const start = this.#at;
    const found = this.#match(STRING);
    if (found === null) return this.#failString(start);
    try {
      return JSON.parse(found[0]) as string;
    } catch {
      return this.#failString(start);
    }
  }

  #failString(start: number): never {
    this.#at = start;
    this.#match(BROKEN_STRING);
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
      this.#match(SPACE);
      if (this.#text[this.#at] !== '"') this.#fail(NO_NAME);
      const key = this.#string();
      if (!this.#skip(':')) this.#fail("Expecting ':' delimiter");
      map.set(key, this.value(depth + 1));
    } while (this.#skip(','));
    if (!this.#skip('}')) this.#fail("Expecting ',' delimiter");
    return map;
  }
}
