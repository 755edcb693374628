import { pyRepr } from '@brine/wire/text';
import { described, floatOf, integerOf, startsArgument, type TokenType } from './token.ts';
import type { TokenCursor } from './token-cursor.ts';
import type { Arguments, DictPair, Expression, Parameters } from './tree.ts';

const CONSTANTS: ReadonlyMap<string, unknown> = new Map([
  ['true', true],
  ['True', true],
  ['false', false],
  ['False', false],
  ['none', null],
  ['None', null],
]);
const COMPARISONS = new Set(['==', '!=', '<', '>', '<=', '>=']);
const SUMS = ['+', '-'];
const PRODUCTS = ['*', '/', '//', '%'];
const POWERS = ['**'];
const NO_ARGUMENTS: Arguments = { positional: [], named: [] };

// Jinja's operators, from the weakest binding to the strongest (Jinja: jinja2/parser.py).

/** Parses an expression, with `… if … else …`. @throws JinjaError (Syntax) */
export function parseExpression(at: TokenCursor): Expression {
  let value = parseOr(at);
  while (at.skip('symbol', 'if')) {
    const test = parseOr(at);
    const no = at.skip('symbol', 'else') ? parseExpression(at) : undefined;
    value = { kind: 'Condition', line: value.line, test, yes: value, no };
  }
  return value;
}

/**
 * Parses expressions between commas, up to a token of this type; without a comma it is no tuple.
 * After the `in` of a loop the names `stops` end it too, so `if` is no part of it.
 * @throws JinjaError (Syntax)
 */
export function parseTuple(at: TokenCursor, end: TokenType, stops?: readonly string[]): Expression {
  const { line } = at;
  const children: Expression[] = [];
  let commas = false;
  while (!at.is(end) && stops?.some((name) => at.is('symbol', name)) !== true) {
    children.push(stops === undefined ? parseExpression(at) : parseOr(at));
    if (!at.skip('comma')) break;
    commas = true;
  }
  const [only] = children;
  if (!commas && only !== undefined) return only;
  if (!commas && end !== 'right-paren') {
    at.fail(`Expected an expression, got ${pyRepr(described(at.peek()))}`);
  }
  return { kind: 'Tuple', line, children };
}

function parseOr(at: TokenCursor): Expression {
  let left = parseAnd(at);
  while (at.skip('symbol', 'or')) {
    left = { kind: 'Or', line: left.line, left, right: parseAnd(at) };
  }
  return left;
}

function parseAnd(at: TokenCursor): Expression {
  let left = parseNot(at);
  while (at.skip('symbol', 'and')) {
    left = { kind: 'And', line: left.line, left, right: parseNot(at) };
  }
  return left;
}

function parseNot(at: TokenCursor): Expression {
  const { line } = at;
  if (!at.skip('symbol', 'not')) return parseComparison(at);
  return { kind: 'Not', line, target: parseNot(at) };
}

function parseComparison(at: TokenCursor): Expression {
  const first = parseSum(at);
  const rest: { op: string; value: Expression }[] = [];
  for (let op = comparison(at); op !== undefined; op = comparison(at)) {
    rest.push({ op, value: parseSum(at) });
  }
  if (rest.length === 0) return first;
  return { kind: 'Comparison', line: first.line, first, rest };
}

function comparison(at: TokenCursor): string | undefined {
  const token = at.peek();
  if (token?.type === 'operator') {
    if (!COMPARISONS.has(token.value)) return undefined;
    at.next();
    return token.value;
  }
  if (at.skip('symbol', 'in')) return 'in';
  return at.skipNames('not', 'in') ? 'not in' : undefined;
}

function parseSum(at: TokenCursor): Expression {
  return parseChain(at, SUMS, parseJoin);
}

function parseJoin(at: TokenCursor): Expression {
  const first = parseProduct(at);
  if (!at.is('tilde')) return first;
  const parts = [first];
  while (at.skip('tilde')) parts.push(parseProduct(at));
  return { kind: 'Join', line: first.line, parts };
}

function parseProduct(at: TokenCursor): Expression {
  return parseChain(at, PRODUCTS, parsePower);
}

function parsePower(at: TokenCursor): Expression {
  return parseChain(at, POWERS, parseUnary);
}

function parseChain(
  at: TokenCursor,
  operators: readonly string[],
  parseNext: (at: TokenCursor) => Expression,
): Expression {
  let left = parseNext(at);
  for (;;) {
    const token = at.peek();
    if (token?.type !== 'operator' || !operators.includes(token.value)) return left;
    at.next();
    left = { kind: 'Math', line: left.line, op: token.value, left, right: parseNext(at) };
  }
}

function parseUnary(at: TokenCursor): Expression {
  return parseFilters(at, parseSigned(at));
}

function parseSigned(at: TokenCursor): Expression {
  const { line } = at;
  const negative = at.skip('operator', '-');
  if (!negative && !at.skip('operator', '+')) return parsePostfix(at, parsePrimary(at));
  return parsePostfix(at, { kind: 'Sign', line, negative, target: parseSigned(at) });
}

function parsePrimary(at: TokenCursor): Expression {
  const token = at.next();
  if (token === undefined) at.fail(`unexpected ${pyRepr(described(token))}`);
  const { type, value, line } = token;
  switch (type) {
    case 'symbol':
      if (!CONSTANTS.has(value)) return { kind: 'Name', line, value };
      return { kind: 'Constant', line, value: CONSTANTS.get(value) };
    case 'string': {
      let text = value;
      while (at.is('string')) text += at.expect('string').value;
      return { kind: 'Constant', line, value: text };
    }
    case 'int':
      return { kind: 'Constant', line, value: integerOf(value) };
    case 'float':
      return { kind: 'Constant', line, value: floatOf(value) };
    case 'left-paren': {
      const inner = parseTuple(at, 'right-paren');
      at.expect('right-paren');
      return inner;
    }
    case 'left-bracket':
      return { kind: 'List', line, children: parseItems(at) };
    case 'left-curly':
      return { kind: 'DictLiteral', line, pairs: parsePairs(at) };
    default:
      return at.fail(`unexpected ${pyRepr(described(token))}`, line);
  }
}

function parseItems(at: TokenCursor): Expression[] {
  const children: Expression[] = [];
  while (!at.skip('right-bracket')) {
    if (children.length > 0) at.expect('comma');
    if (at.skip('right-bracket')) break;
    children.push(parseExpression(at));
  }
  return children;
}

function parsePairs(at: TokenCursor): DictPair[] {
  const pairs: DictPair[] = [];
  while (!at.skip('right-curly')) {
    if (pairs.length > 0) at.expect('comma');
    if (at.skip('right-curly')) break;
    const key = parseExpression(at);
    at.expect('colon');
    pairs.push({ key, value: parseExpression(at) });
  }
  return pairs;
}

/** Attributes, items and calls after a value. */
function parsePostfix(at: TokenCursor, start: Expression): Expression {
  const { line } = start;
  let target = start;
  for (;;) {
    if (at.skip('operator', '.')) {
      const token = at.next();
      if (token?.type === 'int') {
        const key: Expression = { kind: 'Constant', line, value: integerOf(token.value) };
        target = { kind: 'Item', line, target, key };
      } else if (token?.type === 'symbol') {
        target = { kind: 'Attribute', line, target, name: token.value };
      } else at.fail('expected name or number', line);
    } else if (at.skip('left-bracket')) {
      target = { kind: 'Item', line, target, key: parseSubscript(at) };
    } else if (at.is('left-paren')) {
      target = { kind: 'Call', line, target, args: parseArguments(at) };
    } else return target;
  }
}

function parseSubscript(at: TokenCursor): Expression {
  const { line } = at;
  const children: Expression[] = [];
  while (!at.skip('right-bracket')) {
    if (children.length > 0) at.expect('comma');
    children.push(parseSubscribed(at, line));
  }
  const [only, more] = children;
  if (only !== undefined && more === undefined) return only;
  return { kind: 'Tuple', line, children };
}

function parseSubscribed(at: TokenCursor, line: number): Expression {
  const value = (): Expression | undefined =>
    at.is('colon') || at.is('right-bracket') || at.is('comma') ? undefined : parseExpression(at);
  const parts = [value()];
  if (!at.is('colon')) return parts[0] ?? at.unexpected('expression');
  while (parts.length < 3 && at.skip('colon')) parts.push(value());
  return { kind: 'Slice', line, parts };
}

function parseArguments(at: TokenCursor): Arguments {
  const positional: Expression[] = [];
  const named: [string, Expression][] = [];
  let splat: Expression | undefined;
  let keywordSplat: Expression | undefined;
  const { line } = at.expect('left-paren');
  const ensure = (fits: boolean): void => {
    if (!fits) at.fail('invalid syntax for function call expression', line);
  };
  for (let first = true; !at.skip('right-paren'); first = false) {
    if (!first) at.expect('comma');
    if (at.skip('right-paren')) break;
    const late = keywordSplat !== undefined;
    if (at.skip('operator', '*')) {
      ensure(splat === undefined && !late);
      splat = parseExpression(at);
    } else if (at.skip('operator', '**')) {
      ensure(!late);
      keywordSplat = parseExpression(at);
    } else {
      const value = parseExpression(at);
      if (value.kind === 'Name' && at.skip('operator', '=')) {
        ensure(!late);
        named.push([value.value, parseExpression(at)]);
      } else {
        ensure(splat === undefined && !late && named.length === 0);
        positional.push(value);
      }
    }
  }
  return { positional, named, splat, keywordSplat };
}

/** Filters, tests and calls after a value. */
function parseFilters(at: TokenCursor, target: Expression): Expression {
  let value = target;
  for (;;) {
    if (at.skip('pipe')) value = parseFilter(at, value);
    else if (at.skip('symbol', 'is')) value = parseTest(at, value);
    else if (at.is('left-paren')) {
      value = { kind: 'Call', line: at.line, target: value, args: parseArguments(at) };
    } else return value;
  }
}

/** The filters of a block, from the first name on. @throws JinjaError (Syntax) */
export function parseBlockFilters(at: TokenCursor): Expression {
  return parseFilters(at, parseFilter(at, undefined));
}

function parseFilter(at: TokenCursor, target: Expression | undefined): Expression {
  const { line } = at;
  const name = parseDottedName(at);
  const args = at.is('left-paren') ? parseArguments(at) : NO_ARGUMENTS;
  return { kind: 'FilterCall', line, name, target, args };
}

function parseDottedName(at: TokenCursor): string {
  let name = at.expect('symbol').value;
  while (at.skip('operator', '.')) name += `.${at.expect('symbol').value}`;
  return name;
}

function parseTest(at: TokenCursor, target: Expression): Expression {
  const { line } = target;
  const negated = at.skip('symbol', 'not');
  const name = parseDottedName(at);
  let args: Arguments = NO_ARGUMENTS;
  const token = at.peek();
  if (token?.type === 'left-paren') args = parseArguments(at);
  else if (token !== undefined && startsArgument(token)) {
    if (at.is('symbol', 'is')) at.fail('You cannot chain multiple tests with is');
    args = { positional: [parsePostfix(at, parsePrimary(at))], named: [] };
  }
  const test: Expression = { kind: 'Test', line, name, target, args };
  return negated ? { kind: 'Not', line, target: test } : test;
}

/** The parameters of a macro, in parentheses. @throws JinjaError (Syntax) */
export function parseParameters(at: TokenCursor): Parameters {
  const names: string[] = [];
  const defaults: Expression[] = [];
  at.expect('left-paren');
  while (!at.skip('right-paren')) {
    if (names.length > 0) at.expect('comma');
    if (at.skip('right-paren')) break;
    names.push(at.expect('symbol').value);
    if (at.skip('operator', '=')) defaults.push(parseExpression(at));
    else if (defaults.length > 0) at.fail('non-default argument follows default argument');
  }
  return { names, defaults };
}
