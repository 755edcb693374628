import { SaltFloat } from '@brine/wire';
import type { Token } from './tree.ts';

const CLOSERS = new Set(['right-paren', 'right-bracket', 'right-curly']);

/** True for a token that can begin the one argument of a test without parentheses. */
export function startsArgument(token: Token): boolean {
  if (token.type === 'symbol') return !/^(?:else|or|and)$/.test(token.value);
  return ['string', 'int', 'float', 'left-bracket', 'left-curly'].includes(token.type);
}

const TYPE_NAMES: Readonly<Record<string, string>> = {
  'block-end': 'end of statement block',
  'variable-end': 'end of print statement',
  'left-paren': '(',
  'right-paren': ')',
  'right-bracket': ']',
  symbol: 'name',
  int: 'integer',
  comma: ',',
  colon: ':',
};

/** A token as Jinja names it in its errors. */
export function described(token: Token | null): string {
  if (token === null) return 'end of template';
  if (CLOSERS.has(token.type)) return token.value;
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
export function typeText(type: string): string {
  return TYPE_NAMES[type] ?? type;
}
