import { type JinjaError, valueError } from '../errors.ts';
import { repr, str } from '../python/text.ts';
import { type Token, tokensOf } from './lexer.ts';

/** A part of an expression. */
export interface Node {
  readonly type: NodeType;
  /** A name, an index, an operator or a literal. */
  readonly value?: unknown;
  readonly children: readonly Node[];
}

export type NodeType =
  | ('and' | 'chain' | 'comparator' | 'current' | 'dict' | 'expref' | 'field' | 'filter')
  | ('flatten' | 'function' | 'index' | 'list' | 'literal' | 'not' | 'or' | 'pair')
  | ('projection' | 'slice' | 'values');

/** How strongly a token binds the expression before it. */
const POWER: Readonly<Record<string, number>> = {
  pipe: 1,
  or: 2,
  and: 3,
  eq: 5,
  gt: 5,
  lt: 5,
  gte: 5,
  lte: 5,
  ne: 5,
  flatten: 9,
  star: 20,
  filter: 21,
  dot: 40,
  not: 45,
  lbrace: 50,
  lbracket: 55,
  lparen: 60,
};
/** Tokens that bind weaker end a projection. */
const PROJECTION_STOP = 10;

const CURRENT: Node = { type: 'current', children: [] };

/** Parses an expression as jmespath.py does. @throws JinjaError (ValueError) with its text */
export function parseExpression(expression: string): Node {
  if (expression === '') throw valueError('Invalid JMESPath expression: cannot be empty.');
  return new Parser(tokensOf(expression)).whole();
}

class Parser {
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  whole(): Node {
    const node = this.#expression(0);
    const token = this.#ahead(0);
    if (token.type !== 'eof') throw parseError(token, `Unexpected token: ${str(token.value)}`);
    return node;
  }

  #expression(power: number): Node {
    let left = this.#begun(this.#next());
    while (power < powerOf(this.#type())) left = this.#goneOn(left, this.#next());
    return left;
  }

  /** A token at the start of an expression. */
  #begun(token: Token): Node {
    switch (token.type) {
      case 'literal':
        return node('literal', [], token.value);
      case 'unquoted_identifier':
        return node('field', [], token.value);
      case 'quoted_identifier':
        if (this.#type() === 'lparen') {
          const words = 'Quoted identifier not allowed for function names.';
          throw parseError({ ...this.#ahead(0), start: 0 }, words);
        }
        return node('field', [], token.value);
      case 'star':
        if (this.#type() === 'rbracket') return node('values', [CURRENT, CURRENT]);
        return node('values', [CURRENT, this.#projected('star')]);
      case 'filter':
      case 'flatten':
        return this.#goneOn(CURRENT, token);
      case 'lbrace':
        return this.#dict();
      case 'lparen': {
        const inner = this.#expression(0);
        this.#match('rparen');
        return inner;
      }
      case 'not':
        return node('not', [this.#expression(powerOf('not'))]);
      case 'lbracket':
        return this.#bracket();
      case 'current':
        return CURRENT;
      case 'expref':
        return node('expref', [this.#expression(0)]);
      case 'eof':
        throw incomplete();
      default:
        throw parseError(token, 'invalid token');
    }
  }

  #bracket(): Node {
    if (['number', 'colon'].includes(this.#type())) return this.#indexed(CURRENT);
    if (this.#type() === 'star' && this.#ahead(1).type === 'rbracket') {
      this.#at += 2;
      return node('projection', [CURRENT, this.#projected('star')]);
    }
    return this.#list();
  }

  /** A token that continues an expression. */
  #goneOn(left: Node, token: Token): Node {
    switch (token.type) {
      case 'dot':
        if (this.#type() !== 'star') return node('chain', [left, this.#afterDot('dot')]);
        this.#at += 1;
        return node('values', [left, this.#projected('dot')]);
      case 'pipe':
        return node('chain', [left, this.#expression(powerOf('pipe'))]);
      case 'or':
      case 'and':
        return node(token.type, [left, this.#expression(powerOf(token.type))]);
      case 'eq':
      case 'ne':
      case 'gt':
      case 'gte':
      case 'lt':
      case 'lte':
        return node('comparator', [left, this.#expression(powerOf(token.type))], token.type);
      case 'flatten':
        return node('projection', [node('flatten', [left]), this.#projected('flatten')]);
      case 'filter': {
        const condition = this.#expression(0);
        this.#match('rbracket');
        const right = this.#type() === 'flatten' ? CURRENT : this.#projected('filter');
        return node('filter', [left, right, condition]);
      }
      case 'lbracket':
        if (['number', 'colon'].includes(this.#type())) return this.#indexed(left);
        this.#match('star');
        this.#match('rbracket');
        return node('projection', [left, this.#projected('star')]);
      case 'lparen':
        return this.#call(left);
      default:
        throw parseError(token, 'invalid token');
    }
  }

  #call(left: Node): Node {
    if (left.type !== 'field') {
      const before = this.#ahead(-2);
      throw parseError(before, `Invalid function name '${str(before.value)}'`);
    }
    const args: Node[] = [];
    while (this.#type() !== 'rparen') {
      args.push(this.#expression(0));
      if (this.#type() === 'comma') this.#at += 1;
    }
    this.#match('rparen');
    return node('function', args, left.value);
  }

  /** `[2]` or `[1:3]`, after its bracket. */
  #indexed(left: Node): Node {
    if (this.#type() === 'colon' || this.#ahead(1).type === 'colon') {
      const slice = node('chain', [left, this.#slice()]);
      return node('projection', [slice, this.#projected('star')]);
    }
    const index = node('index', [], this.#next().value);
    this.#match('rbracket');
    return node('chain', [left, index]);
  }

  #slice(): Node {
    const parts: unknown[] = [null, null, null];
    for (let part = 0; this.#type() !== 'rbracket' && part < 3;) {
      const token = this.#ahead(0);
      if (token.type === 'colon') part += 1;
      else if (token.type === 'number') parts[part] = token.value;
      else throw parseError(token, 'syntax error');
      if (part === 3) throw parseError(token, 'syntax error');
      this.#at += 1;
    }
    this.#match('rbracket');
    return node('slice', [], parts);
  }

  #list(): Node {
    const items: Node[] = [];
    for (;;) {
      items.push(this.#expression(0));
      if (this.#type() === 'rbracket') break;
      this.#match('comma');
    }
    this.#match('rbracket');
    return node('list', items);
  }

  #dict(): Node {
    const pairs: Node[] = [];
    for (;;) {
      const key = this.#ahead(0);
      this.#match('quoted_identifier', 'unquoted_identifier');
      this.#match('colon');
      pairs.push(node('pair', [this.#expression(0)], key.value));
      if (this.#type() === 'comma') this.#at += 1;
      else if (this.#type() === 'rbrace') break;
    }
    this.#match('rbrace');
    return node('dict', pairs);
  }

  /** The expression that a projection applies to each of its values. */
  #projected(binding: string): Node {
    const type = this.#type();
    if (powerOf(type) < PROJECTION_STOP) return CURRENT;
    if (type === 'lbracket' || type === 'filter') return this.#expression(powerOf(binding));
    if (type !== 'dot') throw parseError(this.#ahead(0), 'syntax error');
    this.#at += 1;
    return this.#afterDot(binding);
  }

  #afterDot(binding: string): Node {
    const token = this.#ahead(0);
    const allowed = ['quoted_identifier', 'unquoted_identifier', 'lbracket', 'lbrace'];
    if (token.type === 'lbracket' || token.type === 'lbrace') {
      this.#at += 1;
      return token.type === 'lbracket' ? this.#list() : this.#dict();
    }
    if (token.type === 'star' || allowed.includes(token.type)) {
      return this.#expression(powerOf(binding));
    }
    throw parseError(token, `Expecting: ${repr(allowed)}, got: ${token.type}`);
  }

  #match(...types: readonly string[]): void {
    const token = this.#next();
    if (types.includes(token.type)) return;
    if (token.type === 'eof') throw incomplete();
    const expected = types.length === 1 ? str(types[0]) : repr([...types]);
    throw parseError(token, `Expecting: ${expected}, got: ${token.type}`);
  }

  #next(): Token {
    const token = this.#ahead(0);
    this.#at += 1;
    return token;
  }

  /** The token some places ahead; after the last one, the token of the end. */
  #ahead(places: number): Token {
    const token = this.#tokens[this.#at + places] ?? this.#tokens.at(-1);
    if (token === undefined) throw incomplete();
    return token;
  }

  #type(): string {
    return this.#ahead(0).type;
  }
}

function node(type: NodeType, children: readonly Node[], value?: unknown): Node {
  return { type, children, value };
}

function powerOf(type: string): number {
  return POWER[type] ?? 0;
}

function incomplete(): JinjaError {
  return valueError('Invalid jmespath expression: Incomplete expression:');
}

function parseError({ type, value, start }: Token, words: string): JinjaError {
  const place = `column ${start}, token "${str(value)}" (${type.toUpperCase()})`;
  return valueError(`${words}: Parse error at ${place}, for expression:`);
}
