import { pyRepr } from '@brine/wire/text';
import type { Expression, Parameters, Token } from './tree.ts';
import { described } from './token.ts';
import { ValueParser } from './expressions.ts';

const COMPARISONS = new Set(['==', '!=', '<', '>', '<=', '>=']);

/** Jinja's operators, by Jinja's precedence (Jinja: jinja2/parser.py). */
export class ExpressionParser extends ValueParser {
  /** One expression, with `… if … else …`. */
  override expression(): Expression {
    let value = this.parseOr();
    while (this.peekIs('symbol') && this.skipSymbol('if')) {
      const test = this.parseOr();
      const no = this.skipSymbol('else') ? this.expression() : undefined;
      value = { typename: 'Condition', lineno: value.lineno, test, yes: value, no };
    }
    return value;
  }

  /** Expressions with commas between them; one without a comma stands for itself. */
  override parseTuple(
    ends: readonly string[],
    conditions = true,
    words: readonly string[] = [],
  ): Expression {
    const lineno = this.peekToken()?.lineno ?? this.lastLine;
    const children: Expression[] = [];
    let commas = false;
    for (;;) {
      const token = this.peekToken();
      const word = token?.type === 'symbol' && words.includes(token.value);
      if (token !== null && (ends.includes(token.type) || word)) break;
      children.push(conditions ? this.expression() : this.parseOr());
      if (!this.skip('comma')) break;
      commas = true;
    }
    const [only] = children;
    if (!commas && only !== undefined) return only;
    if (!commas && !ends.includes('right-paren')) {
      const found = pyRepr(described(this.peekToken() as Token | null));
      this.fail(`Expected an expression, got ${found}`);
    }
    return { typename: 'Tuple', lineno, children };
  }

  override parseOr(): Expression {
    let left = this.#and();
    while (this.skipSymbol('or')) {
      left = { typename: 'Or', lineno: left.lineno, left, right: this.#and() };
    }
    return left;
  }

  #and(): Expression {
    let left = this.#not();
    while (this.skipSymbol('and')) {
      left = { typename: 'And', lineno: left.lineno, left, right: this.#not() };
    }
    return left;
  }

  #not(): Expression {
    const token = this.peekToken();
    if (token === null || !this.skipSymbol('not')) return this.#comparison();
    return { typename: 'Not', lineno: token.lineno, target: this.#not() };
  }

  #comparison(): Expression {
    const first = this.#sum();
    const rest: { op: string; value: Expression }[] = [];
    for (;;) {
      const token = this.peekToken();
      if (token?.type === 'operator' && COMPARISONS.has(token.value)) {
        this.nextToken();
        rest.push({ op: token.value, value: this.#sum() });
      } else if (this.skipSymbol('in')) {
        rest.push({ op: 'in', value: this.#sum() });
      } else if (token !== null && this.isAhead('in') && this.skipSymbol('not')) {
        this.expectSymbol('in');
        rest.push({ op: 'not in', value: this.#sum() });
      } else break;
    }
    if (rest.length === 0) return first;
    return { typename: 'Comparison', lineno: first.lineno, first, rest };
  }

  #sum(): Expression {
    return this.#chain(['+', '-'], () => this.#join());
  }

  #join(): Expression {
    const parts = [this.#product()];
    while (this.skip('tilde')) parts.push(this.#product());
    const [first] = parts;
    if (parts.length === 1 && first !== undefined) return first;
    return { typename: 'Join', lineno: first?.lineno ?? 0, parts };
  }

  #product(): Expression {
    return this.#chain(['*', '/', '//', '%'], () => this.#chain(['**'], () => this.unary()));
  }

  #chain(operators: readonly string[], next: () => Expression): Expression {
    let left = next();
    for (;;) {
      const token = this.peekToken();
      if (token?.type !== 'operator' || !operators.includes(token.value)) return left;
      this.nextToken();
      left = { typename: 'Math', lineno: left.lineno, op: token.value, left, right: next() };
    }
  }

  override parseSignature(): Parameters {
    const names: string[] = [];
    const defaults: Expression[] = [];
    this.expect('left-paren');
    while (!this.skip('right-paren')) {
      if (names.length > 0) this.expect('comma');
      if (this.skip('right-paren')) break;
      names.push(this.expect('symbol').value);
      if (this.skipValue('operator', '=')) defaults.push(this.expression());
      else if (defaults.length > 0) this.fail('non-default argument follows default argument');
    }
    return { names, defaults };
  }
}
