import { YamlLoadError } from '../errors.ts';
import { type Cursor, isBlankOrEnd } from './cursor.ts';
import { scanBlock, scanPlain, scanQuoted } from './scan-scalars.ts';
import { scanAnchor, scanDirective, scanTag } from './scan-words.ts';
import type { ScalarStyle, Sign, Token } from './tokens.ts';

/** Maximum nesting of brackets and braces. PyYAML is limited by the stack of the machine. */
const FLOW_MAX = 1_000;
/** Longest key without `?`, which must be on one line (YAML 1.1, 9.1.3). */
const KEY_LENGTH_MAX = 1_024;

/** A position where a key may begin: it is a key if a `:` follows. */
interface PossibleKey {
  /** Brackets around it. */
  readonly level: number;
  /** Index of its token, from the beginning. */
  readonly token: number;
  /** A missing `:` is an error. */
  readonly isRequired: boolean;
  readonly at: number;
  readonly index: number;
  readonly line: number;
  readonly column: number;
}

/**
 * Splits a text into tokens as libyaml 0.2.5 does (src/scanner.c), with its errors. Blocks become
 * brackets of their own: each deeper column begins one, each lesser column ends some.
 */
export class Scanner {
  readonly #cursor: Cursor;
  readonly #tokens: Token[] = [];
  /** Index of the next token in `#tokens`. */
  #head = 0;
  #taken = 0;
  #indent = -1;
  readonly #indents: number[] = [];
  /** Number of open brackets. */
  #flow = 0;
  /** In the order of the text: the first is the oldest, and at most one is of each level. */
  readonly #keys: PossibleKey[] = [];
  #mayBeKey = true;
  #isOver = false;

  constructor(cursor: Cursor) {
    this.#cursor = cursor;
  }

  /** The next token; at the end always that of the end. @throws YamlLoadError */
  peek(): Token {
    while (this.#needsMore()) this.#fetch();
    const token = this.#tokens[this.#head];
    if (token === undefined) throw new TypeError('a text ends with a token');
    return token;
  }

  /** Takes the next token. @throws YamlLoadError */
  take(): Token {
    const token = this.peek();
    if (token.kind === 'stream end') return token;
    this.#head += 1;
    this.#taken += 1;
    if (this.#head === this.#tokens.length) {
      this.#tokens.length = 0;
      this.#head = 0;
    }
    return token;
  }

  /** True while the next token may still become a key, because then a token goes before it. */
  #needsMore(): boolean {
    if (this.#head === this.#tokens.length) return !this.#isOver;
    this.#dropStaleKeys();
    return !this.#isOver && this.#keys[0]?.token === this.#taken;
  }

  #fetch(): void {
    const cursor = this.#cursor;
    this.#skipToToken();
    this.#dropStaleKeys();
    this.#endBlocks(cursor.column);
    if (Number.isNaN(cursor.code())) return this.#end();
    if (cursor.column === 0 && cursor.is('%')) {
      this.#leaveBlocks();
      return void this.#tokens.push(scanDirective(cursor));
    }
    if (cursor.isAtDocumentSign) {
      this.#leaveBlocks();
      this.#sign(cursor.is('-') ? 'document start' : 'document end', 3);
      return;
    }
    if (this.#fetchSigned(cursor.text.charAt(cursor.at))) return;
    const problem = 'found character that cannot start any token';
    cursor.fail('scanner', 'while scanning for the next token', cursor.at, problem);
  }

  /** Reads a token that begins with a sign; false without one here. */
  #fetchSigned(sign: string): boolean {
    switch (sign) {
      case '[':
        return this.#beginFlow('flow sequence start');
      case '{':
        return this.#beginFlow('flow mapping start');
      case ']':
        return this.#endFlow('flow sequence end');
      case '}':
        return this.#endFlow('flow mapping end');
      case ',':
        return this.#flowEntry();
      case '-':
        return this.#isInFrontOfBlank ? this.#blockSign('block entry') : this.#plain();
      case '?':
        return this.#isIndicator ? this.#blockSign('key') : this.#plain();
      case ':':
        return this.#isIndicator ? this.#value() : this.#plain();
      case '*':
        return this.#word((cursor) => scanAnchor(cursor, 'alias'));
      case '&':
        return this.#word((cursor) => scanAnchor(cursor, 'anchor'));
      case '!':
        return this.#word((cursor) => scanTag(cursor, this.#isInFlow));
      case '|':
        return !this.#isInFlow && this.#block('literal');
      case '>':
        return !this.#isInFlow && this.#block('folded');
      case "'":
      case '"':
        return this.#quoted(sign);
      default:
        return !NEVER_FIRST.includes(sign) && this.#plain();
    }
  }

  #skipToToken(): void {
    const cursor = this.#cursor;
    for (;;) {
      if (cursor.column === 0 && cursor.is(BOM)) cursor.skip();
      // Where a key may begin, a tab would be an indentation.
      while (cursor.is(' ') || (cursor.is('\t') && (this.#isInFlow || !this.#mayBeKey))) {
        cursor.at += 1;
      }
      cursor.skipComment();
      if (cursor.takeBreak() === '') return;
      if (!this.#isInFlow) this.#mayBeKey = true;
    }
  }

  get #isInFlow(): boolean {
    return this.#flow > 0;
  }

  // Keys

  #dropStaleKeys(): void {
    const { line, index } = this.#cursor;
    for (let key = this.#keys[0]; key !== undefined; key = this.#keys[0]) {
      if (key.line === line && key.index + KEY_LENGTH_MAX >= index) return;
      if (key.isRequired) this.#failKey(key);
      this.#keys.shift();
    }
  }

  #failKey({ at }: PossibleKey): never {
    const context = 'while scanning a simple key';
    this.#cursor.fail('scanner', context, at, "could not find expected ':'");
  }

  #noteKey(): void {
    if (!this.#mayBeKey) return;
    const { at, index, line, column } = this.#cursor;
    const token = this.#taken + this.#tokens.length - this.#head;
    const isRequired = !this.#isInFlow && this.#indent === column;
    this.#dropKey();
    this.#keys.push({ level: this.#flow, token, isRequired, at, index, line, column });
  }

  /** Removes and returns the possible key of this level. */
  #takeKey(): PossibleKey | undefined {
    return this.#keys.at(-1)?.level === this.#flow ? this.#keys.pop() : undefined;
  }

  #dropKey(): void {
    const key = this.#takeKey();
    if (key?.isRequired === true) this.#failKey(key);
  }

  // Blocks

  /** Begins a block if the column is greater. `token`: the token that it goes before. */
  #beginBlock(kind: Sign, column: number, at: number, token?: number): void {
    if (this.#isInFlow || this.#indent >= column) return;
    this.#indents.push(this.#indent);
    this.#indent = column;
    const begin: Token = { kind, start: at, end: at };
    if (token === undefined) this.#tokens.push(begin);
    else this.#insert(token, begin);
  }

  #insert(token: number, inserted: Token): void {
    this.#tokens.splice(this.#head + token - this.#taken, 0, inserted);
  }

  #endBlocks(column: number): void {
    if (this.#isInFlow) return;
    const { at } = this.#cursor;
    while (this.#indent > column) {
      this.#tokens.push({ kind: 'block end', start: at, end: at });
      this.#indent = this.#indents.pop() ?? -1;
    }
  }

  #leaveBlocks(): void {
    this.#endBlocks(-1);
    this.#dropKey();
    this.#mayBeKey = false;
  }

  // Tokens

  #sign(kind: Sign, length = 1): true {
    const start = this.#cursor.at;
    this.#cursor.at += length;
    this.#tokens.push({ kind, start, end: start + length });
    return true;
  }

  #end(): void {
    this.#cursor.endLine();
    this.#leaveBlocks();
    this.#isOver = true;
    this.#sign('stream end', 0);
  }

  #beginFlow(kind: Sign): true {
    this.#noteKey();
    if (this.#flow === FLOW_MAX) throw new YamlLoadError('nested too deep');
    this.#flow += 1;
    this.#mayBeKey = true;
    return this.#sign(kind);
  }

  #endFlow(kind: Sign): true {
    this.#dropKey();
    if (this.#isInFlow) this.#flow -= 1;
    this.#mayBeKey = false;
    return this.#sign(kind);
  }

  #flowEntry(): true {
    this.#dropKey();
    this.#mayBeKey = true;
    return this.#sign('flow entry');
  }

  /** `-`, `?`, or a `:` behind no key: each may begin a block. */
  #blockSign(kind: 'block entry' | 'key' | 'value'): true {
    const { column, at } = this.#cursor;
    if (!this.#isInFlow) {
      if (!this.#mayBeKey) this.#cursor.fail('scanner', undefined, at, NOT_HERE[kind]);
      const block = kind === 'block entry' ? 'block sequence start' : 'block mapping start';
      this.#beginBlock(block, column, at);
    }
    this.#dropKey();
    this.#mayBeKey = kind === 'block entry' || !this.#isInFlow;
    return this.#sign(kind);
  }

  #value(): true {
    const key = this.#takeKey();
    if (key === undefined) return this.#blockSign('value');
    const { at, column, token } = key;
    this.#insert(token, { kind: 'key', start: at, end: at });
    this.#beginBlock('block mapping start', column, at, token);
    this.#mayBeKey = false;
    return this.#sign('value');
  }

  #word(read: (cursor: Cursor) => Token): true {
    this.#noteKey();
    this.#mayBeKey = false;
    this.#tokens.push(read(this.#cursor));
    return true;
  }

  #block(style: 'literal' | 'folded'): true {
    this.#dropKey();
    this.#mayBeKey = true;
    const start = this.#cursor.at;
    return this.#scalar(style, start, scanBlock(this.#cursor, style, this.#indent));
  }

  #quoted(quote: "'" | '"'): true {
    this.#noteKey();
    this.#mayBeKey = false;
    const start = this.#cursor.at;
    return this.#scalar(
      quote === "'" ? 'single' : 'double',
      start,
      scanQuoted(this.#cursor, quote),
    );
  }

  #plain(): true {
    this.#noteKey();
    this.#mayBeKey = false;
    const start = this.#cursor.at;
    const place = { isInFlow: this.#isInFlow, indent: this.#indent };
    const { endsLine, ...scalar } = scanPlain(this.#cursor, place);
    if (endsLine) this.#mayBeKey = true;
    return this.#scalar('plain', start, scalar);
  }

  #scalar(
    style: ScalarStyle,
    start: number,
    { value, end }: { readonly value: string; readonly end: number },
  ): true {
    this.#tokens.push({ kind: 'scalar', value, style, start, end });
    return true;
  }

  /** True if `?` and `:` are indicators here. */
  get #isIndicator(): boolean {
    return this.#isInFlow || this.#isInFrontOfBlank;
  }

  get #isInFrontOfBlank(): boolean {
    return isBlankOrEnd(this.#cursor.code(1));
  }
}

const BOM = '\ufeff';
/** Signs that can not begin a token; a tab only if it would be an indentation. */
const NEVER_FIRST = '\t#%@`';

const NOT_HERE = {
  'block entry': 'block sequence entries are not allowed in this context',
  key: 'mapping keys are not allowed in this context',
  value: 'mapping values are not allowed in this context',
} as const;
