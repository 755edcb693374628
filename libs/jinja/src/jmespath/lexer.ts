import { readJson } from '@brine/wire/text';
import { valueError } from '../errors.ts';

/** A token of an expression. Its position is counted in characters from 0. */
export interface Token {
  readonly type: string;
  readonly value: unknown;
  readonly start: number;
}

const SIMPLE: Readonly<Record<string, string>> = {
  '.': 'dot',
  '*': 'star',
  ']': 'rbracket',
  ',': 'comma',
  ':': 'colon',
  '@': 'current',
  '(': 'lparen',
  ')': 'rparen',
  '{': 'lbrace',
  '}': 'rbrace',
};
/** By first sign: the second sign of a longer token, its type, and the type of the sign alone. */
const DOUBLE: Readonly<Record<string, readonly [string, string, string]>> = {
  '|': ['|', 'or', 'pipe'],
  '&': ['&', 'and', 'expref'],
  '<': ['=', 'lte', 'lt'],
  '>': ['=', 'gte', 'gt'],
  '!': ['=', 'ne', 'not'],
};

/** The tokens of an expression, `eof` the last. @throws JinjaError (ValueError) as jmespath */
export function tokensOf(expression: string): Token[] {
  return new Lexer([...expression]).all();
}

class Lexer {
  readonly #signs: readonly string[];
  #at = 0;

  constructor(signs: readonly string[]) {
    this.#signs = signs;
  }

  all(): Token[] {
    const tokens: Token[] = [];
    for (;;) {
      const sign = this.#signs[this.#at];
      if (sign === undefined) break;
      if (' \t\n\r'.includes(sign)) this.#at += 1;
      else tokens.push(this.#token(sign));
    }
    tokens.push({ type: 'eof', value: '', start: this.#signs.length });
    return tokens;
  }

  #token(sign: string): Token {
    const start = this.#at;
    const simple = SIMPLE[sign];
    if (simple !== undefined) return this.#taken(simple, 1);
    const double = DOUBLE[sign];
    if (double !== undefined) {
      const [next, long, short] = double;
      return this.#signs[start + 1] === next ? this.#taken(long, 2) : this.#taken(short, 1);
    }
    if (/[A-Za-z_]/.test(sign))
      return this.#taken('unquoted_identifier', this.#run(/[A-Za-z0-9_]/));
    if (/[0-9-]/.test(sign)) return this.#number(sign);
    switch (sign) {
      case '[':
        if (this.#signs[start + 1] === ']') return this.#taken('flatten', 2);
        return this.#signs[start + 1] === '?'
          ? this.#taken('filter', 2)
          : this.#taken('lbracket', 1);
      case "'":
        return { type: 'literal', value: this.#until("'").replaceAll("\\'", "'"), start };
      case '`':
        return { type: 'literal', value: literal(this.#until('`').replaceAll('\\`', '`')), start };
      case '"':
        return { type: 'quoted_identifier', value: this.#quoted(), start };
      case '=':
        if (this.#signs[start + 1] === '=') return this.#taken('eq', 2);
        throw badExpression("Unknown token '='");
      default:
        throw badExpression(`Unknown token ${sign}`);
    }
  }

  #taken(type: string, length: number): Token {
    const start = this.#at;
    this.#at += length;
    return { type, value: this.#signs.slice(start, this.#at).join(''), start };
  }

  /** The number of consecutive signs of this kind; the first one counts in any case. */
  #run(kind: RegExp): number {
    let to = this.#at + 1;
    while (kind.test(this.#signs[to] ?? '')) to += 1;
    return to - this.#at;
  }

  #number(sign: string): Token {
    const { value, start } = this.#taken('number', this.#run(/[0-9]/));
    if (value === '-') throw badExpression(`Unknown token '${sign}'`);
    return { type: 'number', value: Number(value), start };
  }

  /** The text up to the next sign of this kind; a backslash escapes the sign after it. */
  #until(delimiter: string): string {
    const parts: string[] = [];
    for (let at = this.#at + 1; ; at += 1) {
      let sign = this.#signs[at];
      if (sign === delimiter) {
        this.#at = at + 1;
        return parts.join('');
      }
      if (sign === '\\') {
        parts.push(sign);
        at += 1;
        sign = this.#signs[at];
      }
      if (sign === undefined) throw badExpression(`Unclosed ${delimiter} delimiter`);
      parts.push(sign);
    }
  }

  #quoted(): unknown {
    const text = this.#until('"');
    try {
      return readJson(`"${text}"`);
    } catch {
      throw badExpression('Invalid control character or escape');
    }
  }
}

/** Invalid JSON is a text, as in the first version of the language. */
function literal(text: string): unknown {
  for (const json of [text, `"${text.trimStart()}"`]) {
    try {
      return readJson(json);
    } catch {
      continue;
    }
  }
  throw badExpression(`Bad token ${text}`);
}

function badExpression(words: string): Error {
  return valueError(`Bad jmespath expression: ${words}:`);
}
