import { syntaxError } from '../errors.ts';
import { unescapeText } from '../python/text-escapes.ts';
import type { Token, TokenType } from './token.ts';

/** How white space around tags is treated (Jinja: Environment). */
export interface Whitespace {
  readonly trimBlocks: boolean;
  readonly lstripBlocks: boolean;
  readonly keepTrailingNewline: boolean;
}

const TAG_START = /\{%|\{\{|\{#/g;
const RAW_START = /^\{%[-+]?\s*raw\s*(?:-%\}\s*|\+?%\})/;
const RAW_END = /\{%([-+]?)\s*endraw\s*(\+%\}|-%\}\s*|%\})/g;
const NAME = /^[\p{L}\p{Nl}_][\p{L}\p{Nl}\p{Mn}\p{Mc}\p{Nd}\p{Pc}]*/u;
const FLOAT = /^(?:(?:\d+_)*\d+(?:(?:\.(?:\d+_)*\d+)?[eE][+-]?(?:\d+_)*\d+|\.(?:\d+_)*\d+))/;
const INTEGER =
  /^(?:0[bB](?:_?[01])+|0[oO](?:_?[0-7])+|0[xX](?:_?[\da-fA-F])+|[1-9](?:_?\d)*|0(?:_?0)*)/;
const STRING = /^(?:'[^'\\]*(?:\\[^][^'\\]*)*'|"[^"\\]*(?:\\[^][^"\\]*)*")/;
const OPERATORS = ['//', '**', '==', '!=', '>=', '<=', ...'+-/*%~[](){}><=.:|,;'];
const CLOSING: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' };

const TYPES: Readonly<Record<string, TokenType>> = {
  '(': 'left-paren',
  ')': 'right-paren',
  '[': 'left-bracket',
  ']': 'right-bracket',
  '{': 'left-curly',
  '}': 'right-curly',
  ',': 'comma',
  ':': 'colon',
  '~': 'tilde',
  '|': 'pipe',
};

/**
 * Cuts a template into tokens by Jinja's rules: signs at both ends of a tag, Python's literals,
 * `}}` inside of braces (Jinja: jinja2/lexer.py).
 * @throws JinjaError (Syntax)
 */
export function tokensOf(source: string, whitespace: Whitespace): readonly Token[] {
  return new Lexer(source, whitespace).tokens;
}

class Lexer {
  readonly tokens: Token[] = [];
  readonly #source: string;
  readonly #whitespace: Whitespace;
  #at = 0;
  #line = 1;

  constructor(source: string, whitespace: Whitespace) {
    const text = source.replaceAll(/\r\n?/g, '\n');
    this.#source =
      !whitespace.keepTrailingNewline && text.endsWith('\n') ? text.slice(0, -1) : text;
    this.#whitespace = whitespace;
    this.#all();
  }

  #all(): void {
    while (this.#at < this.#source.length) {
      TAG_START.lastIndex = this.#at;
      const found = TAG_START.exec(this.#source);
      if (found === null) {
        this.#data(this.#source.slice(this.#at));
        return;
      }
      const sign = this.#source.charAt(found.index + 2);
      this.#text(found.index, sign, found[0]);
      if (found[0] === '{#') this.#comment(sign);
      else if (found[0] === '{%' && RAW_START.test(this.#rest())) this.#raw();
      else this.#tag(found[0], sign);
    }
  }

  #rest(): string {
    return this.#source.slice(this.#at);
  }

  /** Text before a tag, less the white space that the tag's sign removes. */
  #text(end: number, sign: string, tag: string): void {
    const text = this.#source.slice(this.#at, end);
    this.#data(text, this.#stripped(text, sign, tag));
  }

  #stripped(text: string, sign: string, tag: string): string {
    if (sign === '-') return text.trimEnd();
    if (sign === '+' || tag === '{{' || !this.#whitespace.lstripBlocks) return text;
    const lineStart = text.lastIndexOf('\n') + 1;
    const startsLine = lineStart > 0 || this.#at === 0 || this.#source[this.#at - 1] === '\n';
    const blank = /^\s*$/.test(text.slice(lineStart));
    return startsLine && blank ? text.slice(0, lineStart) : text;
  }

  #data(whole: string, shown = whole): void {
    if (shown !== '') this.#push('data', shown);
    this.#skip(whole);
  }

  #push(type: TokenType, value: string): void {
    this.tokens.push({ type, value, line: this.#line });
  }

  #skip(text: string): void {
    this.#at += text.length;
    for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) this.#line += 1;
  }

  #fail(text: string): never {
    throw syntaxError(text, this.#line);
  }

  #comment(sign: string): void {
    const start = this.#at + (sign === '-' || sign === '+' ? 3 : 2);
    const end = this.#source.indexOf('#}', start);
    if (end === -1) this.#fail('Missing end of comment tag');
    const last = end > start ? this.#source[end - 1] : '';
    this.#skip(this.#source.slice(this.#at, end + 2));
    if (last === '-') this.#skipSpace();
    else if (last !== '+' && this.#whitespace.trimBlocks) this.#skipLineEnd();
  }

  #skipSpace(): void {
    this.#skip(/^\s*/.exec(this.#rest())?.[0] ?? '');
  }

  #skipLineEnd(): void {
    if (this.#source[this.#at] === '\n') this.#skip('\n');
  }

  #raw(): void {
    const start = RAW_START.exec(this.#rest())?.[0] ?? '';
    this.#skip(start);
    RAW_END.lastIndex = this.#at;
    const end = RAW_END.exec(this.#source);
    if (end === null) this.#fail('Missing end of raw directive');
    this.#text(end.index, end[1] ?? '', '{%');
    this.#skip(end[0]);
    if (this.#whitespace.trimBlocks && end[2] === '%}') this.#skipLineEnd();
  }

  #tag(start: '{%' | '{{' | (string & {}), sign: string): void {
    const block = start === '{%';
    this.#push(block ? 'block-start' : 'variable-start', start);
    this.#skip(sign === '-' || sign === '+' ? start + sign : start);
    const open: string[] = [];
    for (;;) {
      this.#skipSpace();
      const rest = this.#rest();
      // The template ends inside a tag: the parser reports the missing end.
      if (rest === '') return;
      if (open.length === 0 && this.#tagEnd(block, rest)) return;
      this.#inside(rest, open);
    }
  }

  #tagEnd(block: boolean, rest: string): boolean {
    const found = block ? /^(?:\+%\}|-%\}\s*|%\})/.exec(rest) : /^(?:-\}\}\s*|\}\})/.exec(rest);
    if (found === null) return false;
    this.#push(block ? 'block-end' : 'variable-end', block ? '%}' : '}}');
    this.#skip(found[0]);
    if (block && found[0] === '%}' && this.#whitespace.trimBlocks) this.#skipLineEnd();
    return true;
  }

  #inside(rest: string, open: string[]): void {
    const number = this.#afterDot() ? null : FLOAT.exec(rest);
    if (number !== null) return this.#literal('float', number[0]);
    const integer = INTEGER.exec(rest);
    if (integer !== null) return this.#literal('int', integer[0]);
    const name = NAME.exec(rest);
    if (name !== null) return this.#literal('symbol', name[0]);
    const text = STRING.exec(rest);
    if (text !== null) {
      this.#push('string', unescapeText(text[0].slice(1, -1), this.#line));
      this.#skip(text[0]);
      return;
    }
    const operator = OPERATORS.find((candidate) => rest.startsWith(candidate));
    if (operator === undefined) {
      this.#fail(`unexpected char ${pythonChar(rest)} at ${this.#at}`);
    }
    this.#balance(operator, open);
    this.#literal(TYPES[operator] ?? 'operator', operator);
  }

  #afterDot(): boolean {
    return this.#source[this.#at - 1] === '.';
  }

  #literal(type: TokenType, text: string): void {
    this.#push(type, text);
    this.#skip(text);
  }

  #balance(operator: string, open: string[]): void {
    const closing = CLOSING[operator];
    if (closing !== undefined) open.push(closing);
    if (operator !== ')' && operator !== ']' && operator !== '}') return;
    const expected = open.pop();
    if (expected === undefined) this.#fail(`unexpected '${operator}'`);
    if (expected !== operator) this.#fail(`unexpected '${operator}', expected '${expected}'`);
  }
}

function pythonChar(rest: string): string {
  const character = String.fromCodePoint(rest.codePointAt(0) ?? 0);
  return character === "'" ? '"\'"' : `'${character === '\\' ? '\\\\' : character}'`;
}
