import type { Node } from './ast.ts';
import { variantsOf } from './fold.ts';

/** Alternatives that begin with the same letter. */
export interface Start {
  /** The UTF-16 unit that they begin with. */
  readonly unit: number;
  readonly node: Node;
}

/** Fewer alternatives are as fast one after another. */
const MIN_STARTS = 3;

/**
 * Groups alternatives by their first letter, with a common beginning once; `others` begin with
 * something else. `web1|web2|…` of a thousand names then takes no more steps than one name. Changes
 * the order in which alternatives are tried.
 */
export function factored(
  options: readonly Node[],
  ignoreCase: boolean,
): { readonly starts: readonly Start[]; readonly others: readonly Node[] } {
  const byUnit = new Map<number, (readonly Node[])[]>();
  const others: Node[] = [];
  for (const option of options) {
    const parts = partsOf(option);
    const unit = firstUnit(parts[0], ignoreCase);
    if (unit === undefined) others.push(option);
    else {
      const known = byUnit.get(unit);
      if (known === undefined) byUnit.set(unit, [parts]);
      else known.push(parts);
    }
  }
  const groups = [...byUnit].map(([unit, members]) => ({ unit, node: joined(members) }));
  if (groups.length >= MIN_STARTS) return { starts: groups, others };
  return { starts: [], others: [...groups.map(({ node }) => node), ...others] };
}

function partsOf(node: Node): readonly Node[] {
  return node.kind === 'seq' ? node.parts : [node];
}

function firstUnit(node: Node | undefined, ignoreCase: boolean): number | undefined {
  if (node?.kind !== 'char' || node.code > 0xffff) return undefined;
  return ignoreCase && variantsOf(node.code).length > 1 ? undefined : node.code;
}

/** Joins sequences with the same first letter: the common beginning, then the rests. */
function joined(members: readonly (readonly Node[])[]): Node {
  const [first = [], ...more] = members;
  if (more.length === 0) return { kind: 'seq', parts: first };
  let length = 0;
  while (members.every((parts) => sameLetter(parts[length], first[length]))) length += 1;
  const options = members.map((parts): Node => ({ kind: 'seq', parts: parts.slice(length) }));
  return { kind: 'seq', parts: [...first.slice(0, length), { kind: 'alt', options }] };
}

function sameLetter(one: Node | undefined, other: Node | undefined): boolean {
  return one?.kind === 'char' && other?.kind === 'char' && one.code === other.code;
}
