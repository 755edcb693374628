import type { ClassName, Node, SetItem } from './ast.ts';
import { lowerOf, variantsOf } from './fold.ts';

/** The characters that may be at a place: a table for ASCII, a test for all others. */
export interface CharSet {
  readonly ascii: Uint8Array;
  readonly wide: (code: number) => boolean;
}

const ASCII_SIZE = 128;

type ClassLetter = 'd' | 'w' | 's';

const DECIMAL = /\p{Nd}/u;
const WORD = /[\p{L}\p{N}_]/u;
// Python's `str.isspace` (bidirectional types WS, B, S and category Zs).
const SPACE = /[\t-\r\x1c-\x20\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/u;

const UNICODE: Readonly<Record<ClassLetter, (code: number) => boolean>> = {
  d: remembered(DECIMAL),
  w: remembered(WORD),
  s: remembered(SPACE),
};
const ASCII: Readonly<Record<ClassLetter, (code: number) => boolean>> = {
  d: (code) => code >= 0x30 && code <= 0x39,
  w: (code) => code < ASCII_SIZE && UNICODE.w(code),
  s: (code) => code === 0x20 || (code >= 9 && code <= 13),
};

/** Tests each character of the basic plane once: V8 takes 50 ns for it. */
function remembered(characters: RegExp): (code: number) => boolean {
  const known = new Uint8Array(0x10000);
  const [no, yes] = [1, 2];
  return (code) => {
    if (code >= known.length) return characters.test(String.fromCodePoint(code));
    known[code] ||= characters.test(String.fromCodePoint(code)) ? yes : no;
    return known[code] === yes;
  };
}

function classTest(name: ClassName, ascii: boolean): (code: number) => boolean {
  const letter = name.toLowerCase() as ClassLetter;
  const test = (ascii ? ASCII : UNICODE)[letter];
  return letter === name ? test : (code) => !test(code);
}

/** True for a character of `\w`. */
export function isWord(code: number, ascii: boolean): boolean {
  return (ascii ? ASCII : UNICODE).w(code);
}

const NEWLINE = 10;
/** `.` without the flag `s`. */
export const NOT_NEWLINE = setOf((code) => code !== NEWLINE);
export const ANYTHING = setOf(() => true);

function setOf(test: (code: number) => boolean): CharSet {
  const ascii = new Uint8Array(ASCII_SIZE);
  for (let code = 0; code < ASCII_SIZE; code += 1) ascii[code] = Number(test(code));
  return { ascii, wide: test };
}

/** Makes the sets of one expression, equal sets once: `\w` may occur a thousand times. */
export class CharSets {
  readonly #known = new Map<string, CharSet>();
  /** A node occurs again where a repeat is unrolled. */
  readonly #nodes = new Map<Node, CharSet>();
  readonly #letters = new Map<number, CharSet | undefined>();
  readonly #plains = new Map<number, CharSet>();

  of(node: Node & { readonly kind: 'set' }, ignoreCase: boolean): CharSet {
    const seen = this.#nodes.get(node);
    if (seen !== undefined) return seen;
    const key = `${ignoreCase}${node.negated}${JSON.stringify(node.items)}`;
    let found = this.#known.get(key);
    if (found === undefined) {
      const has = ignoreCase ? folded(node.items) : plain(node.items);
      found = setOf(node.negated ? (code) => !has(code) : has);
      this.#known.set(key, found);
    }
    this.#nodes.set(node, found);
    return found;
  }

  /** A letter without regard to case; undefined for a character without case. */
  ofLetter(code: number): CharSet | undefined {
    if (!this.#letters.has(code)) this.#letters.set(code, this.#makeLetter(code));
    return this.#letters.get(code);
  }

  /** A letter with its case. */
  ofPlain(code: number): CharSet {
    let found = this.#plains.get(code);
    if (found === undefined) {
      found = setOf((other) => other === code);
      this.#plains.set(code, found);
    }
    return found;
  }

  #makeLetter(code: number): CharSet | undefined {
    if (variantsOf(code).length === 1) return undefined;
    return setOf(folded([{ kind: 'range', from: code, to: code }]));
  }
}

function plain(items: readonly SetItem[]): (code: number) => boolean {
  const tests = items.flatMap((item) =>
    item.kind === 'class' ? [classTest(item.name, item.ascii)] : [],
  );
  const ranges = items.flatMap((item) => (item.kind === 'range' ? [item] : []));
  const [only, more] = tests;
  if (only !== undefined && more === undefined && ranges.length === 0) return only;
  return (code) =>
    ranges.some(({ from, to }) => from <= code && code <= to) || tests.some((test) => test(code));
}

/** Python lowers the text, so each form of a member of the set counts. */
function folded(items: readonly SetItem[]): (code: number) => boolean {
  const classes = plain(items.filter(({ kind }) => kind === 'class'));
  const ranges = plain(items.filter(({ kind }) => kind === 'range'));
  return (code) => classes(lowerOf(code)) || variantsOf(code).some(ranges);
}
