import type { Node } from '../parse/nodes.ts';
import { plainKind } from './resolve.ts';

/** Prefix of the tags of YAML 1.1. */
export const YAML_TAG = 'tag:yaml.org,2002:';
/** The tag of `<<`. */
export const MERGE = `${YAML_TAG}merge`;
/** The tag of `=`. */
export const VALUE = `${YAML_TAG}value`;

/** The tag of a node: its own, or the one that its text implies. */
export function tagOf(node: Node): string {
  if (node.tag !== undefined) return node.tag;
  if (node.kind === 'sequence') return `${YAML_TAG}seq`;
  if (node.kind === 'mapping') return `${YAML_TAG}map`;
  return `${YAML_TAG}${node.isPlain ? plainKind(node.value) : 'str'}`;
}
