import { SaltFloat } from '@brine/wire';

/** The kinds of token. */
export type TokenType =
  | 'string'
  | 'data'
  | 'block-start'
  | 'block-end'
  | 'variable-start'
  | 'variable-end'
  | 'left-paren'
  | 'right-paren'
  | 'left-bracket'
  | 'right-bracket'
  | 'left-curly'
  | 'right-curly'
  | 'operator'
  | 'comma'
  | 'colon'
  | 'tilde'
  | 'pipe'
  | 'int'
  | 'float'
  | 'symbol';

/** A piece of a tag, or the text between two tags (`data`). */
export interface Token {
  readonly type: TokenType;
  readonly value: string;
  /** The line of the template, from 1. */
  readonly line: number;
}

/** True for a token that can begin the one argument of a test without parentheses. */
export function startsArgument(token: Token): boolean {
  if (token.type === 'symbol') return !/^(?:else|or|and)$/.test(token.value);
  return ['string', 'int', 'float', 'left-bracket', 'left-curly'].includes(token.type);
}

const TYPE_NAMES: Readonly<Partial<Record<TokenType, string>>> = {
  'block-end': 'end of statement block',
  'variable-end': 'end of print statement',
  'left-paren': '(',
  'right-paren': ')',
  'right-bracket': ']',
  symbol: 'name',
  string: 'string',
  int: 'integer',
  float: 'float',
  comma: ',',
  colon: ':',
};

/** A token as Jinja names it in its errors; undefined is the end of the template. */
export function described(token: Token | undefined): string {
  if (token === undefined) return 'end of template';
  return token.type === 'symbol' ? token.value : (TYPE_NAMES[token.type] ?? token.value);
}

/** The value of an integer literal. */
export function integerOf(text: string): number | bigint {
  const value = BigInt(text.replaceAll('_', '').replace(/^0+(?=0$)/, ''));
  return Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

/** The value of a float literal. */
export function floatOf(text: string): number | SaltFloat {
  const value = Number(text.replaceAll('_', ''));
  return Number.isInteger(value) ? new SaltFloat(value) : value;
}

/** A type of token as Jinja names it in its errors. */
export function typeText(type: TokenType): string {
  return TYPE_NAMES[type] ?? type;
}
