import { WireError } from '../errors.ts';
import { DEFAULT_MAX_DEPTH } from '../msgpack/limits.ts';
import { SaltFloat, type SaltMap, type SaltValue } from '../value.ts';

const SPACE = /[ \t\n\r]*/y;
const STRING = /"(?:[^"\\]|\\[^])*"/y;
const NUMBER = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?/y;
const WORD = /null|true|false|NaN|-?Infinity/y;
const WORDS: ReadonlyMap<string, SaltValue> = new Map<string, SaltValue>([
  ['null', null],
  ['true', true],
  ['false', false],
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['-Infinity', Number.NEGATIVE_INFINITY],
]);

/**
 * Reads JSON as Python's `json.loads`: `1.0` stays a float, integers of any size stay exact, maps
 * keep their order.
 * @throws WireError (SALT_WIRE_TYPE, SALT_WIRE_DEPTH)
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

  #fail(): never {
    throw new WireError('SALT_WIRE_TYPE', `no JSON at character ${this.#at}`);
  }

  #skip(character: string): boolean {
    this.#match(SPACE);
    if (this.#text[this.#at] !== character) return false;
    this.#at += 1;
    return true;
  }

  end(): void {
    this.#match(SPACE);
    if (this.#at < this.#text.length) this.#fail();
  }

  value(depth: number): SaltValue {
    if (depth > DEFAULT_MAX_DEPTH) throw new WireError('SALT_WIRE_DEPTH', 'JSON nests too deeply');
    if (this.#skip('{')) return this.#map(depth);
    if (this.#skip('[')) return this.#list(depth);
    if (this.#text[this.#at] === '"') return this.#string();
    const word = this.#match(WORD);
    if (word !== null) return WORDS.get(word[0]) ?? null;
    const number = this.#match(NUMBER);
    if (number === null) this.#fail();
    const plain = Number(number[0]);
    if (number[1] === undefined && number[2] === undefined) {
      return Number.isSafeInteger(plain) ? plain : BigInt(number[0]);
    }
    return Number.isInteger(plain) ? new SaltFloat(plain) : plain;
  }

  #string(): string {
    const found = this.#match(STRING);
    if (found === null) this.#fail();
    try {
      return JSON.parse(found[0]) as string;
    } catch {
      return this.#fail();
    }
  }

  #list(depth: number): SaltValue[] {
    const list: SaltValue[] = [];
    if (this.#skip(']')) return list;
    do list.push(this.value(depth + 1));
    while (this.#skip(','));
    if (!this.#skip(']')) this.#fail();
    return list;
  }

  #map(depth: number): SaltMap {
    const map: SaltMap = new Map();
    if (this.#skip('}')) return map;
    do {
      this.#match(SPACE);
      const key = this.#string();
      if (!this.#skip(':')) this.#fail();
      map.set(key, this.value(depth + 1));
    } while (this.#skip(','));
    if (!this.#skip('}')) this.#fail();
    return map;
  }
}
