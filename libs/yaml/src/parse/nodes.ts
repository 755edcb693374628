import type { ScalarStyle } from './tokens.ts';

/** What a text says before it is known what it means. Places are offsets in the text. */
export type Node = ScalarNode | SequenceNode | MappingNode;

interface NodeBase {
  /** The whole tag; undefined where what is written decides. */
  readonly tag: string | undefined;
  /** Where it begins, with its anchor and its tag. */
  readonly start: number;
  /** Of an alias that stands in what it stands for: that node. Nothing else is in it then. */
  readonly within?: Node;
}

/** A scalar as it is written. */
export interface ScalarNode extends NodeBase {
  readonly kind: 'scalar';
  readonly value: string;
  readonly style: ScalarStyle;
  /** It has no quotes, so that it may be a number, or is tagged with `!` alone. */
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
