import { pyRepr } from '@brine/wire/text';
import type { TokenCursor } from './token-cursor.ts';
import type { Target } from './tree.ts';

const CONSTANT = "can't assign to 'const'";

/** Parses the target of an assignment; commas make a tuple. @throws JinjaError (Syntax) */
export function parseTarget(at: TokenCursor): Target {
  const first = parseOneTarget(at);
  if (!at.is('comma')) return first;
  const children = [first];
  while (at.skip('comma')) {
    if (!at.is('symbol') && !at.is('left-paren')) break;
    children.push(parseOneTarget(at));
  }
  return { kind: 'Tuple', line: first.line, children };
}

/** A name, an attribute of a namespace, or targets in parentheses. @throws JinjaError (Syntax) */
export function parseOneTarget(at: TokenCursor): Target {
  if (at.skip('left-paren')) {
    const inner = parseTarget(at);
    at.expect('right-paren');
    return inner;
  }
  const token = at.peek();
  if (token !== undefined && /^(?:string|int|float)$/.test(token.type)) at.fail(CONSTANT);
  if (token?.type === 'operator') at.fail(`unexpected ${pyRepr(token.value)}`);
  const { value, line } = at.expect('symbol');
  if (/^(?:true|false|none|True|False|None)$/.test(value)) at.fail(CONSTANT, line);
  if (!at.skip('operator', '.')) return { kind: 'Name', line, value };
  return { kind: 'NamespaceRef', line, name: value, attr: at.expect('symbol').value };
}
