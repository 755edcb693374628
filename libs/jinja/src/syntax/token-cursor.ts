import { pyRepr } from '@brine/wire/text';
import { syntaxError } from '../errors.ts';
import { described, type Token, type TokenType, typeText } from './token.ts';

/** Reads tokens one after another. Errors are JinjaErrors (Syntax) with Jinja's text. */
export class TokenCursor {
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  /** The next token, without taking it; undefined at the end. */
  peek(): Token | undefined {
    return this.#tokens[this.#at];
  }

  /** Takes the next token; undefined at the end. */
  next(): Token | undefined {
    const token = this.#tokens[this.#at];
    this.#at += 1;
    return token;
  }

  /** The line of the next token; at the end, the line of the last token. */
  get line(): number {
    return (this.peek() ?? this.#tokens.at(-1))?.line ?? 1;
  }

  /** True if the next token is of this type, and has this value if given. */
  is(type: TokenType, value?: string): boolean {
    const token = this.#tokens[this.#at];
    return token?.type === type && (value === undefined || token.value === value);
  }

  /** Takes the next token if it is this one. */
  skip(type: TokenType, value?: string): boolean {
    const found = this.is(type, value);
    if (found) this.#at += 1;
    return found;
  }

  /** Takes the next two tokens if they are these names. */
  skipNames(first: string, second: string): boolean {
    const after = this.#tokens[this.#at + 1];
    if (after?.type !== 'symbol' || after.value !== second) return false;
    if (!this.skip('symbol', first)) return false;
    this.#at += 1;
    return true;
  }

  /** Takes a token of this type. @throws JinjaError if the next one is of another type */
  expect(type: TokenType): Token {
    const token = this.#tokens[this.#at];
    if (token?.type !== type) return this.unexpected(typeText(type));
    this.#at += 1;
    return token;
  }

  /** Takes this name. @throws JinjaError if the next token is another one */
  expectName(name: string): void {
    if (!this.skip('symbol', name)) this.unexpected(name);
  }

  /** Fails at a token that can not be here. */
  unexpected(wanted: string): never {
    const token = this.peek();
    if (token === undefined) this.fail(`unexpected end of template, expected '${wanted}'.`);
    this.fail(`expected token '${wanted}', got ${pyRepr(described(token))}`);
  }

  /** Fails at the next token, or at the line given. */
  fail(text: string, line = this.line): never {
    throw syntaxError(text, line);
  }
}
