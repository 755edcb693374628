import type { YamlLoadError } from '../errors.ts';
import type { Cursor } from '../parse/cursor.ts';
import type { MappingNode, Node } from '../parse/nodes.ts';
import { MERGE, tagOf } from './implicit-tags.ts';

/**
 * The pairs of a map, after those of its `<<`. Of two maps in a list the later comes first. Keys
 * that the map has itself are not merged, whatever their kind (Salt: salt/utils/yamlloader.py
 * flatten_mapping). Duplicates stay, so that they are refused.
 * @throws YamlLoadError
 */
export function withMerged(node: MappingNode, cursor: Cursor): MappingNode['pairs'] {
  if (node.within !== undefined) throw recursionFault(node, cursor);
  if (!node.pairs.some(([key]) => tagOf(key) === MERGE)) return node.pairs;
  const merged: MappingNode['pairs'] = [];
  const own: MappingNode['pairs'] = [];
  for (const pair of node.pairs) {
    if (tagOf(pair[0]) === MERGE) merged.push(...namedBy(pair[1], node, cursor));
    else own.push(pair);
  }
  const names = new Set(own.map(([key]) => nameOf(key)));
  return [...merged.filter(([key]) => !names.has(nameOf(key))), ...own];
}

/** PyYAML allows a list or a map that contains itself; Salt can not print or send it. */
export function recursionFault({ start: at }: Node, cursor: Cursor): YamlLoadError {
  const problem = 'found unconstructable recursive node';
  return cursor.faultAt({ kind: 'constructor', problem, at });
}

function namedBy(value: Node, node: MappingNode, cursor: Cursor): MappingNode['pairs'] {
  // A map that names itself gains nothing.
  const pairsOf = (map: MappingNode): MappingNode['pairs'] =>
    map.within === node ? [] : withMerged(map, cursor);
  if (value.kind === 'mapping') return pairsOf(value);
  const refuse = (expected: string, found: Node): never => {
    throw cursor.faultAt({
      kind: 'constructor',
      context: 'while constructing a mapping',
      from: node.start,
      problem: `expected ${expected}, but found ${found.kind}`,
      at: found.start,
    });
  };
  if (value.kind !== 'sequence') return refuse('a mapping or list of mappings for merging', value);
  const maps = value.items.map((item) =>
    item.kind === 'mapping' ? pairsOf(item) : refuse('a mapping for merging', item),
  );
  return maps.reverse().flat();
}

/** Keys are compared as they are written; a key that is no scalar is only itself. */
function nameOf(key: Node): unknown {
  return key.kind === 'scalar' ? key.value : key;
}
