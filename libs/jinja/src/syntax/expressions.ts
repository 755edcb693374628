import { pyRepr } from '@brine/wire/text';
import nodes from 'nunjucks/src/nodes.js';
import nunjucks from 'nunjucks/src/parser.js';
import { syntaxError } from '../errors.ts';
import type { Lexer } from './lexer.ts';
import type { Arguments, Expression, PairNode, Token } from './tree.ts';
import { described, floatOf, integerOf, startsArgument, typeText } from './token.ts';

const CONSTANTS: ReadonlyMap<string, unknown> = new Map([
  ['true', true],
  ['True', true],
  ['false', false],
  ['False', false],
  ['none', null],
  ['None', null],
]);
const NO_ARGUMENTS: Arguments = { positional: [], named: [] };

/**
 * Jinja's values and what hangs on them, on the token reader of nunjucks: Python's literals,
 * slices and tuples, calls with splats, filters, tests with arguments (Jinja: jinja2/parser.py).
 */
export abstract class ValueParser extends nunjucks.Parser {
  readonly #lexer: Lexer;

  constructor(lexer: Lexer) {
    super(lexer);
    this.#lexer = lexer;
  }

  /** Last line of the template, from 0. */
  get lastLine(): number {
    return this.#lexer.lastLine;
  }

  override fail(text: string, lineno?: number): never {
    throw syntaxError(text, (lineno ?? this.peekToken()?.lineno ?? this.lastLine) + 1);
  }

  override expect(type: string): Token {
    const token = this.peekToken();
    if (token?.type !== type) return this.unexpected(`'${typeText(type)}'`);
    this.nextToken();
    return token as Token;
  }

  override advanceAfterBlockEnd(name?: string): unknown {
    if (name === undefined) this.expect('symbol');
    return this.expect('block-end');
  }

  override parseExpression(): Expression {
    return this.parseTuple(['block-end']);
  }

  /** Jinja's words for a token that cannot stand here. */
  unexpected(wanted: string): never {
    const token = this.peekToken();
    if (token === null) this.fail(`unexpected end of template, expected ${wanted}.`);
    this.fail(`expected token ${wanted}, got ${pyRepr(described(token as Token | null))}`);
  }

  /** True where the next token is of this type. */
  peekIs(type: string): boolean {
    return this.peekToken()?.type === type;
  }

  /** True where this word follows the token that was peeked at. */
  isAhead(word: string): boolean {
    const { ahead } = this.#lexer;
    return ahead?.type === 'symbol' && ahead.value === word;
  }

  /** Takes the word or fails. */
  expectSymbol(word: string): void {
    if (!this.skipSymbol(word)) this.unexpected(`'${word}'`);
  }

  /** One expression, with `… if … else …`. */
  abstract expression(): Expression;

  /** Expressions with commas between them, up to a token of one of these types. */
  abstract parseTuple(ends: readonly string[]): Expression;

  /** A signed value with what hangs on it. */
  unary(withFilters = true): Expression {
    const token = this.peekToken();
    let value: Expression;
    if (token?.type === 'operator' && (token.value === '-' || token.value === '+')) {
      this.nextToken();
      const negative = token.value === '-';
      value = { typename: 'Sign', lineno: token.lineno, negative, target: this.unary(false) };
    } else value = this.parsePrimary(true);
    value = this.#postfix(value);
    return withFilters ? this.filters(value) : value;
  }

  override parsePrimary(noPostfix = false): Expression {
    const value = this.#primary();
    return noPostfix ? value : this.#postfix(value);
  }

  #primary(): Expression {
    const token = this.nextToken();
    if (token === null) return this.unexpected("'expression'");
    const { type, value, lineno } = token;
    if (type === 'symbol') {
      if (CONSTANTS.has(value)) {
        return { typename: 'Constant', lineno, value: CONSTANTS.get(value) };
      }
      return new nodes.Symbol(lineno, 0, value) as Expression;
    }
    if (type === 'string') {
      let text = value;
      for (let more = this.peekToken(); more?.type === 'string'; more = this.peekToken()) {
        text += more.value;
        this.nextToken();
      }
      return { typename: 'Constant', lineno, value: text };
    }
    if (type === 'int') return { typename: 'Constant', lineno, value: integerOf(value) };
    if (type === 'float') return { typename: 'Constant', lineno, value: floatOf(value) };
    if (type === 'left-paren') {
      const inner = this.parseTuple(['right-paren']);
      this.expect('right-paren');
      return inner;
    }
    if (type === 'left-bracket') {
      return { typename: 'List', lineno, children: this.#items() };
    }
    if (type === 'left-curly') return this.#dict(lineno);
    return this.fail(`unexpected ${pyRepr(described(token as Token))}`, lineno);
  }

  #items(): Expression[] {
    const children: Expression[] = [];
    while (!this.skip('right-bracket')) {
      if (children.length > 0) this.expect('comma');
      if (this.skip('right-bracket')) break;
      children.push(this.expression());
    }
    return children;
  }

  #dict(lineno: number): Expression {
    const pairs: PairNode[] = [];
    while (!this.skip('right-curly')) {
      if (pairs.length > 0) this.expect('comma');
      if (this.skip('right-curly')) break;
      const key = this.expression();
      this.expect('colon');
      pairs.push({ typename: 'Pair', lineno: key.lineno, key, value: this.expression() });
    }
    return { typename: 'DictLiteral', lineno, pairs };
  }

  #postfix(start: Expression): Expression {
    let target = start;
    for (;;) {
      const { lineno } = target;
      if (this.skipValue('operator', '.')) {
        const token = this.nextToken();
        if (token?.type === 'int') {
          const key: Expression = { typename: 'Constant', lineno, value: integerOf(token.value) };
          target = { typename: 'Item', lineno, target, key };
        } else if (token?.type === 'symbol') {
          target = { typename: 'Attribute', lineno, target, name: token.value };
        } else this.fail('expected name or number', lineno);
      } else if (this.skip('left-bracket')) {
        target = { typename: 'Item', lineno, target, key: this.#subscript() };
      } else if (this.peekIs('left-paren')) {
        target = { typename: 'Call', lineno, target, args: this.#arguments() };
      } else return target;
    }
  }

  #subscript(): Expression {
    const lineno = this.peekToken()?.lineno ?? this.lastLine;
    const children: Expression[] = [];
    while (!this.skip('right-bracket')) {
      if (children.length > 0) this.expect('comma');
      children.push(this.#subscribed(lineno));
    }
    const [only, more] = children;
    if (only !== undefined && more === undefined) return only;
    return { typename: 'Tuple', lineno, children };
  }

  #subscribed(lineno: number): Expression {
    const parts: (Expression | undefined)[] = [];
    const value = (): Expression | undefined =>
      this.peekIs('colon') || this.peekIs('right-bracket') || this.peekIs('comma')
        ? undefined
        : this.expression();
    parts.push(value());
    if (!this.peekIs('colon')) return parts[0] ?? this.unexpected("'expression'");
    while (parts.length < 3 && this.skip('colon')) parts.push(value());
    return { typename: 'Slice', lineno, parts };
  }

  #arguments(): Arguments {
    const positional: Expression[] = [];
    const named: [string, Expression][] = [];
    let splat: Expression | undefined;
    let keywordSplat: Expression | undefined;
    const { lineno } = this.expect('left-paren');
    for (let first = true; !this.skip('right-paren'); first = false) {
      if (!first) this.expect('comma');
      if (this.skip('right-paren')) break;
      const late = keywordSplat !== undefined;
      if (this.skipValue('operator', '*')) {
        this.#ensure(splat === undefined && !late, lineno);
        splat = this.expression();
      } else if (this.skipValue('operator', '**')) {
        this.#ensure(!late, lineno);
        keywordSplat = this.expression();
      } else {
        const value = this.expression();
        if (value.typename === 'Symbol' && this.skipValue('operator', '=')) {
          this.#ensure(!late, lineno);
          named.push([value.value, this.expression()]);
        } else {
          this.#ensure(splat === undefined && !late && named.length === 0, lineno);
          positional.push(value);
        }
      }
    }
    return { positional, named, splat, keywordSplat };
  }

  #ensure(fits: boolean, lineno: number): void {
    if (!fits) this.fail('invalid syntax for function call expression', lineno);
  }

  /** Filters, tests and calls behind a value; `target` is undefined for filters of a block. */
  filters(target: Expression | undefined, started = false): Expression {
    let value = target;
    let open = started;
    for (;;) {
      const token = this.peekToken();
      if (open || this.skip('pipe')) {
        open = false;
        const { lineno } = this.peekToken() ?? { lineno: this.lastLine };
        const name = this.#dottedName();
        const args = this.peekIs('left-paren') ? this.#arguments() : NO_ARGUMENTS;
        value = { typename: 'FilterCall', lineno, name, target: value, args };
      } else if (value !== undefined && token?.type === 'symbol' && this.skipSymbol('is')) {
        value = this.#test(value);
      } else if (value !== undefined && token?.type === 'left-paren') {
        value = { typename: 'Call', lineno: token.lineno, target: value, args: this.#arguments() };
      } else return value ?? this.unexpected("'|'");
    }
  }

  #dottedName(): string {
    let name = this.expect('symbol').value;
    while (this.skipValue('operator', '.')) name += `.${this.expect('symbol').value}`;
    return name;
  }

  #test(target: Expression): Expression {
    const lineno = target.lineno;
    const negated = this.skipSymbol('not');
    const name = this.#dottedName();
    let args: Arguments = NO_ARGUMENTS;
    const token = this.peekToken();
    if (token?.type === 'left-paren') args = this.#arguments();
    else if (token !== null && startsArgument(token as Token)) {
      if (token.value === 'is' && token.type === 'symbol') {
        this.fail('You cannot chain multiple tests with is', token.lineno);
      }
      args = { positional: [this.parsePrimary()], named: [] };
    }
    const test: Expression = { typename: 'Test', lineno, name, target, args };
    return negated ? { typename: 'Not', lineno, target: test } : test;
  }
}
