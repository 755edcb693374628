import type { ClassName, Node, SetItem } from './ast.ts';

// Python's `str.isspace` (bidirectional types WS, B, S and category Zs).
const SPACE =
  '\\t-\\r\\x1c-\\x20\\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000';
const WORD = '\\p{L}\\p{N}_';
/** Python's `\w` as a set of JavaScript's. */
export const WORD_SET = `[${WORD}]`;

const UNICODE: Readonly<Record<ClassName, string>> = {
  d: '\\p{Nd}',
  D: '\\P{Nd}',
  w: WORD,
  W: `^${WORD}`,
  s: SPACE,
  S: `^${SPACE}`,
};
const ASCII: Readonly<Record<ClassName, string>> = {
  d: '0-9',
  D: '^0-9',
  w: '0-9A-Za-z_',
  W: '^0-9A-Za-z_',
  s: '\\t-\\r\\x20',
  S: '^\\t-\\r\\x20',
};

/** How one engine spells what the engines spell differently. */
export interface Dialect {
  /** A character by its code point. */
  char(code: number): string;
  /** Anything at all. */
  readonly anything: string;
  /** What matches nothing. */
  readonly nothing: string;
  /** Rewrites `\uXXXX` where the engine does not know it. */
  escapes(text: string): string;
}

/** A set without its brackets where it can be merged, else undefined. */
function classText(item: SetItem & { readonly kind: 'class' }, dialect: Dialect): string {
  return dialect.escapes((item.ascii ? ASCII : UNICODE)[item.name]);
}

/** Prints a set. A negated class among other members becomes an alternative of its own. */
export function printSet(node: Node & { readonly kind: 'set' }, dialect: Dialect): string {
  const plain: string[] = [];
  const negated: string[] = [];
  for (const item of node.items) {
    const text =
      item.kind === 'class'
        ? classText(item, dialect)
        : item.from === item.to
          ? dialect.char(item.from)
          : `${dialect.char(item.from)}-${dialect.char(item.to)}`;
    if (text.startsWith('^')) negated.push(text.slice(1));
    else plain.push(text);
  }
  return node.negated ? printNegated(plain, negated, dialect) : printUnion(plain, negated, dialect);
}

function printUnion(plain: readonly string[], negated: readonly string[], d: Dialect): string {
  const options = negated.map((text) => `[^${text}]`);
  if (plain.length > 0) options.push(`[${plain.join('')}]`);
  if (options.length === 0) return d.nothing;
  return options.length === 1 ? (options[0] ?? d.nothing) : `(?:${options.join('|')})`;
}

/** Not (P or not N): in N and not in P. Needs an intersection, so N and P are tested in turn. */
function printNegated(plain: readonly string[], negated: readonly string[], d: Dialect): string {
  if (negated.length === 0) return plain.length === 0 ? d.anything : `[^${plain.join('')}]`;
  const [first = '', ...rest] = negated;
  if (plain.length === 0 && rest.length === 0) return `[${first}]`;
  const tests = [...plain.map((text) => `(?![${text}])`), ...rest.map((text) => `(?=[${text}])`)];
  return `(?:${tests.join('')}[${first}])`;
}
