import type { ScalarStyle } from './tokens.ts';

/** A node of the syntax tree, before values are made. Positions are offsets in the text. */
export type Node = ScalarNode | SequenceNode | MappingNode;

interface NodeBase {
  /** The full tag; undefined if the content decides. */
  readonly tag: string | undefined;
  /** Start offset, including anchor and tag. */
  readonly start: number;
  /** Set for an alias inside its own node: that node. The rest is empty then. */
  readonly within?: Node;
}

/** A scalar as it is written. */
export interface ScalarNode extends NodeBase {
  readonly kind: 'scalar';
  readonly value: string;
  readonly style: ScalarStyle;
  /** True if unquoted, or tagged with `!` alone: the value may be a number. */
  readonly isPlain: boolean;
}

/** A list. */
export interface SequenceNode extends NodeBase {
  readonly kind: 'sequence';
  readonly items: Node[];
}

/** Keys and values in the order of the text. */
export interface MappingNode extends NodeBase {
  readonly kind: 'mapping';
  readonly pairs: [key: Node, value: Node][];
}
