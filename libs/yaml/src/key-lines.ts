import type { MappingNode, Node } from './parse/nodes.ts';

/** Maps in maps whose keys are listed: options have three levels at most. */
const LEVELS_MAX = 3;

const BREAK = /\r\n|[\r\n\x85\u2028\u2029]/g;

/** The line of each key of a document, from 1, by its dotted path. */
export function keyLines(node: Node, text: string): ReadonlyMap<string, number> {
  const lines = new Map<string, number>();
  const ends = Array.from(text.matchAll(BREAK), ({ index, 0: sign }) => index + sign.length);
  if (node.kind === 'mapping') collect(node, { ends, lines }, '', LEVELS_MAX);
  return lines;
}

interface Into {
  /** Offsets behind the line breaks. */
  readonly ends: readonly number[];
  readonly lines: Map<string, number>;
}

function collect(map: MappingNode, into: Into, above: string, levels: number): void {
  for (const [key, value] of map.pairs) {
    if (key.kind !== 'scalar') continue;
    const path = above + key.value;
    into.lines.set(path, lineOf(key.start, into.ends));
    if (levels > 1 && value.kind === 'mapping') collect(value, into, `${path}.`, levels - 1);
  }
}

function lineOf(at: number, ends: readonly number[]): number {
  let [low, high] = [0, ends.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ends[middle] ?? 0) <= at) low = middle + 1;
    else high = middle;
  }
  return low + 1;
}
