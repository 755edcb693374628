import { RegexError } from './ast.ts';
import type { Expression, Node, Place } from './ast.ts';
import { printSet } from './print.ts';
import type { Dialect } from './print.ts';

// Google RE2 refuses larger counts.
const MAX_COUNT = 1000;

const RE2: Dialect = {
  char: (code) => `\\x{${code.toString(16)}}`,
  anything: '(?s:.)',
  nothing: '[^\\x{0}-\\x{10ffff}]',
  escapes: (text) => text.replace(/\\u([0-9a-f]{4})/g, '\\x{$1}'),
};

/**
 * Prints an expression for RE2, anchored at the start.
 * @throws RegexError for what RE2 cannot do: references, look-around, counts above 1000.
 */
export function toRe2(expression: Expression): string {
  const body = print(expression.body, true);
  return expression.ignoreCase ? `\\A(?i:${body})` : `\\A(?:${body})`;
}

/** @param last true where nothing that takes characters can follow. */
function print(node: Node, last: boolean): string {
  switch (node.kind) {
    case 'char':
      return RE2.char(node.code);
    case 'dot':
      return node.all ? '(?s:.)' : '[^\\n]';
    case 'set':
      return checked(printSet(node, RE2));
    case 'seq': {
      const end = node.parts.length - 1;
      return node.parts.map((part, i) => print(part, last && i === end)).join('');
    }
    case 'alt':
      return `(?:${node.options.map((option) => print(option, last)).join('|')})`;
    case 'group':
      return `(?:${print(node.body, last)})`;
    case 'case':
      return `(?${node.ignore ? 'i' : '-i'}:${print(node.body, last)})`;
    case 'at':
      return printPlace(node.place, last);
    case 'repeat':
      return `(?:${print(node.body, false)})${count(node.min, node.max)}${node.lazy ? '?' : ''}`;
    case 'look':
    case 'ref':
      throw new RegexError(`RE2 has no ${node.kind}`);
  }
}

function checked(set: string): string {
  if (/\(\?[=!]/.test(set)) throw new RegexError('RE2 has no intersection of sets');
  return set;
}

function printPlace(place: Place, last: boolean): string {
  switch (place) {
    case 'start':
      return '\\A';
    case 'line-start':
      return '(?m:^)';
    case 'line-end':
      return '(?m:$)';
    case 'text-end':
      return '\\z';
    case 'word':
      return '\\b';
    case 'not-word':
      return '\\B';
    case 'end':
      // Python's `$` also holds before a line feed at the end of the text. Taking that line
      // feed says the same only where nothing follows.
      if (!last) throw new RegexError('RE2 has no $ before a last line feed');
      return '(?:\\n?\\z)';
  }
}

function count(min: number, max: number): string {
  if (max === Number.POSITIVE_INFINITY && min <= 1) return min === 0 ? '*' : '+';
  if (min > MAX_COUNT || (max > MAX_COUNT && max !== Number.POSITIVE_INFINITY)) {
    throw new RegexError('RE2 has no counts above 1000');
  }
  return max === Number.POSITIVE_INFINITY ? `{${min},}` : `{${min},${max}}`;
}
