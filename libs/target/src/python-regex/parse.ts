import type { Expression, Node } from './ast.ts';
import { RegexError } from './ast.ts';
import { escapedCode, isClassName, octalCode } from './escapes.ts';
import { parseSet } from './parse-set.ts';
import { Reader } from './reader.ts';
import { widthOf } from './shape.ts';

// Python's own limit is about 100 groups deep in practice; texts that long are no targets.
const MAX_DEPTH = 100;
const MAX_PATTERN_LENGTH = 16_384;
const MAX_REPEAT = 4_294_967_294;

/** How an expression is read. */
export interface Flags {
  readonly ignoreCase: boolean;
  readonly multiline: boolean;
  readonly dotAll: boolean;
  readonly verbose: boolean;
  readonly ascii: boolean;
}

const NO_FLAGS: Flags = {
  ignoreCase: false,
  multiline: false,
  dotAll: false,
  verbose: false,
  ascii: false,
};
const FLAG_OF: ReadonlyMap<string, keyof Flags | 'none'> = new Map([
  ['i', 'ignoreCase'],
  ['m', 'multiline'],
  ['s', 'dotAll'],
  ['x', 'verbose'],
  ['a', 'ascii'],
  ['u', 'none'],
]);

/**
 * Parses a regular expression in the syntax of Python's `re` for text.
 * @throws RegexError for an invalid expression, and for conditionals, atomic groups, possessive
 * repeats and `\N{…}`, which are not supported.
 */
export function parsePythonRegex(text: string, flags: Partial<Flags> = NO_FLAGS): Expression {
  if (text.length > MAX_PATTERN_LENGTH) throw new RegexError('pattern too long');
  const parser = new Parser(text, { ...NO_FLAGS, ...flags });
  return parser.parse();
}

class Parser {
  readonly #reader: Reader;
  readonly #names = new Map<string, number>();
  /** Groups that are closed, and how many characters they take. */
  readonly #closed = new Map<number, number | undefined>();
  #groups = 0;
  #depth = 0;
  #global: Flags;

  constructor(text: string, flags: Flags) {
    this.#reader = new Reader(text);
    this.#global = globalFlags(text, flags);
  }

  parse(): Expression {
    const body = this.#alternatives(this.#global);
    if (!this.#reader.done) throw new RegexError('unbalanced parenthesis');
    return { body, ignoreCase: this.#global.ignoreCase, groups: this.#groups, names: this.#names };
  }

  #alternatives(flags: Flags): Node {
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) throw new RegexError('nested too deeply');
    const options = [this.#sequence(flags)];
    while (this.#reader.take('|')) options.push(this.#sequence(flags));
    this.#depth -= 1;
    return options.length === 1 && options[0] ? options[0] : { kind: 'alt', options };
  }

  #sequence(flags: Flags): Node {
    const parts: Node[] = [];
    for (;;) {
      if (flags.verbose && this.#skipComment()) continue;
      const char = this.#reader.peek();
      if (char === '' || char === '|' || char === ')') return { kind: 'seq', parts };
      const part = this.#repeatable(flags);
      if (part !== undefined) parts.push(this.#repeats(part, flags));
    }
  }

  #skipComment(): boolean {
    if (this.#reader.while(/\s/) !== '') return true;
    if (!this.#reader.take('#')) return false;
    this.#reader.while(/[^\n]/);
    return true;
  }

  #repeatable(flags: Flags): Node | undefined {
    const reader = this.#reader;
    const char = reader.next();
    if (char === '\\') return this.#escape(flags);
    if (char === '[') return parseSet(reader, flags.ascii);
    if (char === '(') return this.#group(flags);
    if (char === '.') return { kind: 'dot', all: flags.dotAll };
    if (char === '^') return { kind: 'at', place: flags.multiline ? 'line-start' : 'start' };
    if (char === '$') return { kind: 'at', place: flags.multiline ? 'line-end' : 'end' };
    if (char === '*' || char === '+' || char === '?') throw new RegexError('nothing to repeat');
    if (char === '{') {
      const back = reader.position;
      if (this.#bounds() !== undefined) throw new RegexError('nothing to repeat');
      reader.position = back;
    }
    return { kind: 'char', code: char.codePointAt(0) ?? 0 };
  }

  #repeats(body: Node, flags: Flags): Node {
    if (flags.verbose) while (this.#skipComment());
    const reader = this.#reader;
    const back = reader.position;
    const bounds = this.#quantifier();
    if (bounds === undefined) {
      reader.position = back;
      return body;
    }
    if (body.kind === 'at') throw new RegexError('nothing to repeat');
    const lazy = reader.take('?');
    if (reader.peek() === '+') throw new RegexError('possessive repeats are not supported');
    const again = reader.position;
    if (this.#quantifier() !== undefined) throw new RegexError('multiple repeat');
    reader.position = again;
    return { kind: 'repeat', body, min: bounds[0], max: bounds[1], lazy };
  }

  #quantifier(): readonly [number, number] | undefined {
    const reader = this.#reader;
    if (reader.take('*')) return [0, Number.POSITIVE_INFINITY];
    if (reader.take('+')) return [1, Number.POSITIVE_INFINITY];
    if (reader.take('?')) return [0, 1];
    return reader.take('{') ? this.#bounds() : undefined;
  }

  /** Bounds after `{`; undefined if the brace is literal. */
  #bounds(): readonly [number, number] | undefined {
    const reader = this.#reader;
    if (reader.peek() === '}') return undefined;
    const low = reader.while(/[0-9]/);
    const comma = reader.take(',');
    const high = comma ? reader.while(/[0-9]/) : low;
    if (!reader.take('}')) return undefined;
    const min = low === '' ? 0 : Number(low);
    const max = high === '' ? Number.POSITIVE_INFINITY : Number(high);
    const tooLarge = min > MAX_REPEAT || (max > MAX_REPEAT && high !== '');
    if (max < min || tooLarge) throw new RegexError('bad repeat bounds');
    return [min, max];
  }

  #escape(flags: Flags): Node {
    const reader = this.#reader;
    const letter = reader.next();
    if (isClassName(letter)) {
      const item = { kind: 'class', name: letter, ascii: flags.ascii } as const;
      return { kind: 'set', negated: false, items: [item] };
    }
    if (letter === 'A') return { kind: 'at', place: 'start' };
    if (letter === 'Z') return { kind: 'at', place: 'text-end' };
    if (letter === 'b') return { kind: 'at', place: flags.ascii ? 'ascii-word' : 'word' };
    if (letter === 'B') return { kind: 'at', place: flags.ascii ? 'not-ascii-word' : 'not-word' };
    if (letter === '0') return { kind: 'char', code: octalCode('0', reader, 2) };
    const code = escapedCode(letter, reader);
    return code === undefined ? this.#numbered(letter) : { kind: 'char', code };
  }

  /** `\12` is a reference, `\123` an octal escape. */
  #numbered(first: string): Node {
    const reader = this.#reader;
    const three = first + reader.peek() + reader.peek(1);
    if (/^[0-7]{3}$/.test(three)) return { kind: 'char', code: octalCode(first, reader, 2) };
    return this.#reference(Number(first + reader.while(/[0-9]/, 1)));
  }

  #reference(group: number | undefined): Node {
    if (group === undefined || !this.#closed.has(group)) {
      throw new RegexError('reference to a group that is not closed');
    }
    return { kind: 'ref', group, width: this.#closed.get(group) };
  }

  #group(flags: Flags): Node | undefined {
    const reader = this.#reader;
    if (!reader.take('?')) return this.#capture(flags, undefined);
    if (reader.take(':')) return this.#closing(flags);
    if (reader.take('#')) return void reader.until(')');
    if (reader.take('P<')) return this.#capture(flags, reader.until('>'));
    if (reader.take('P=')) return this.#reference(this.#names.get(reader.until(')')));
    if (reader.take('=')) return this.#look(flags, true, false);
    if (reader.take('!')) return this.#look(flags, true, true);
    if (reader.take('<=')) return this.#look(flags, false, false);
    if (reader.take('<!')) return this.#look(flags, false, true);
    return this.#flagged(flags);
  }

  #capture(flags: Flags, name: string | undefined): Node {
    this.#groups += 1;
    const number = this.#groups;
    if (name !== undefined) {
      const valid = /^[\p{ID_Start}_]\p{ID_Continue}*$/u.test(name);
      if (!valid || this.#names.has(name)) throw new RegexError('bad group name');
      this.#names.set(name, number);
    }
    const node = this.#closing(flags, number);
    this.#closed.set(number, widthOf(node));
    return node;
  }

  #closing(flags: Flags, number?: number): Node & { readonly kind: 'group' } {
    const body = this.#alternatives(flags);
    if (!this.#reader.take(')')) throw new RegexError('missing )');
    return { kind: 'group', number, body };
  }

  #look(flags: Flags, ahead: boolean, negated: boolean): Node {
    const { body } = this.#closing(flags);
    if (!ahead && widthOf(body) === undefined) {
      throw new RegexError('look-behind requires fixed-width pattern');
    }
    return { kind: 'look', ahead, negated, body };
  }

  #flagged(flags: Flags): Node | undefined {
    const reader = this.#reader;
    const on = reader.while(/[A-Za-z]/);
    const off = reader.take('-') ? reader.while(/[A-Za-z]/) : '';
    if (reader.take(')') && off === '' && on !== '') return undefined; // global, already read
    if (!reader.take(':') || on + off === '') throw new RegexError('unknown group');
    const inner = withFlags(withFlags(flags, on, true), off, false);
    const body = this.#closing(inner);
    if (inner.ignoreCase === flags.ignoreCase) return body;
    return { kind: 'case', ignore: inner.ignoreCase, body };
  }
}

function withFlags(flags: Flags, letters: string, value: boolean): Flags {
  let result = flags;
  for (const letter of letters) {
    const name = FLAG_OF.get(letter);
    if (name === undefined) throw new RegexError(`unknown flag ${letter}`);
    if (name !== 'none') result = { ...result, [name]: value };
  }
  return result;
}

/** Flags such as `(?i)` apply to the whole expression from any place in it (Python 3.10). */
function globalFlags(text: string, given: Flags): Flags {
  let flags = given;
  for (const [, letters] of outsideSets(text).matchAll(/\(\?([A-Za-z]+)\)/g)) {
    flags = withFlags(flags, letters ?? '', true);
  }
  return flags;
}

/** The text without escapes and sets; visits each character once. */
function outsideSets(text: string): string {
  let out = '';
  let inSet = false;
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charAt(at);
    if (char === '\\') at += 1;
    else if (inSet) inSet = char !== ']';
    else if (char === '[') {
      inSet = true;
      if (text.charAt(at + 1) === '^') at += 1;
      // A bracket that comes first stands for itself.
      if (text.charAt(at + 1) === ']') at += 1;
    } else out += char;
  }
  return out;
}
