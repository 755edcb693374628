import { RegexError } from './ast.ts';
import type { Expression, Node, Place } from './ast.ts';
import { printSet, WORD_SET } from './print.ts';
import type { Dialect } from './print.ts';

// A backtracking engine needs about (length of the text) ^ (this degree) steps.
const MAX_DEGREE = 3;
// Repeats up to this count are taken as bounded work.
const MAX_SMALL_COUNT = 16;

const JS: Dialect = {
  char: (code) => `\\u{${code.toString(16)}}`,
  anything: '[^]',
  nothing: '[]',
  escapes: (text) => text,
};

/**
 * The expression for JavaScript's backtracking engine, anchored at the start.
 * @throws RegexError for expressions that this engine cannot do, or that could take it very
 * long: a repeat or an alternative inside an unbounded repeat, too many unbounded repeats.
 */
export function toJs(expression: Expression): RegExp {
  if (degreeOf(expression.body) > MAX_DEGREE) throw new RegexError('too many open repeats');
  const flags = expression.ignoreCase ? 'iuy' : 'uy';
  try {
    return new RegExp(print(expression.body), flags);
  } catch (cause) {
    throw new RegexError('not an expression of JavaScript', { cause });
  }
}

function print(node: Node): string {
  switch (node.kind) {
    case 'char':
      return JS.char(node.code);
    case 'dot':
      return node.all ? '[^]' : '[^\\n]';
    case 'set':
      return printSet(node, JS);
    case 'seq':
      return node.parts.map(print).join('');
    case 'alt':
      return `(?:${node.options.map(print).join('|')})`;
    case 'group':
      return `(${node.captures ? '' : '?:'}${print(node.body)})`;
    case 'case':
      throw new RegexError('no change of case within an expression here');
    case 'at':
      return printPlace(node.place);
    case 'look':
      return `(?${node.ahead ? '' : '<'}${node.negated ? '!' : '='}${print(node.body)})`;
    case 'repeat': {
      const max = node.max === Number.POSITIVE_INFINITY ? '' : String(node.max);
      return `(?:${print(node.body)}){${node.min},${max}}${node.lazy ? '?' : ''}`;
    }
    case 'ref':
      return `(?:\\${node.group})`;
  }
}

function printPlace(place: Place): string {
  switch (place) {
    case 'start':
      return '^';
    case 'line-start':
      return '(?<![^\\n])';
    case 'end':
      return '(?=\\n?$)';
    case 'line-end':
      return '(?![^\\n])';
    case 'text-end':
      return '$';
    case 'word':
      return `(?:(?<=${WORD_SET})(?!${WORD_SET})|(?<!${WORD_SET})(?=${WORD_SET}))`;
    case 'not-word':
      return `(?:(?<=${WORD_SET})(?=${WORD_SET})|(?<!${WORD_SET})(?!${WORD_SET}))`;
  }
}

/** The exponent of the work that backtracking may cost. @throws RegexError where it is worse. */
function degreeOf(node: Node): number {
  switch (node.kind) {
    case 'seq':
      return sequenceDegree(node.parts);
    case 'alt':
      return Math.max(0, ...node.options.map(degreeOf));
    case 'group':
    case 'case':
    case 'look':
      return degreeOf(node.body);
    case 'repeat':
      if (node.max <= MAX_SMALL_COUNT && isFixed(node.body)) return 0;
      if (!isFixed(node.body)) throw new RegexError('repeat of a repeat');
      return 1;
    default:
      return 0;
  }
}

/** Look-aheads one after the other cost no more than the dearest of them. */
function sequenceDegree(parts: readonly Node[]): number {
  let taken = 0;
  let worst = 0;
  for (const part of parts) {
    const degree = degreeOf(part);
    worst = Math.max(worst, taken + degree);
    if (part.kind !== 'look') taken += degree;
  }
  return Math.max(worst, taken);
}

/** True where a node can match in one way only at a given place. */
function isFixed(node: Node): boolean {
  switch (node.kind) {
    case 'char':
    case 'dot':
    case 'set':
    case 'at':
    case 'ref':
      return true;
    case 'seq':
      return node.parts.every(isFixed);
    case 'group':
    case 'case':
    case 'look':
      return isFixed(node.body);
    case 'repeat':
      return node.min === node.max && node.max <= MAX_SMALL_COUNT && isFixed(node.body);
    case 'alt':
      return false;
  }
}
