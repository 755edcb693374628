import type { Node } from './ast.ts';

/** Number of characters that a node takes; undefined if it varies. */
export function widthOf(node: Node): number | undefined {
  switch (node.kind) {
    case 'char':
    case 'dot':
    case 'set':
      return 1;
    case 'at':
    case 'look':
      return 0;
    case 'group':
    case 'case':
      return widthOf(node.body);
    case 'ref':
      return node.width;
    case 'repeat': {
      const width = widthOf(node.body);
      if (width === 0) return 0;
      return width === undefined || node.min !== node.max ? undefined : width * node.min;
    }
    case 'seq':
      return sum(node.parts.map(widthOf));
    case 'alt': {
      const [first, ...rest] = node.options.map(widthOf);
      return rest.every((width) => width === first) ? first : undefined;
    }
  }
}

function sum(widths: readonly (number | undefined)[]): number | undefined {
  return widths.reduce<number | undefined>(
    (total, width) => (total === undefined || width === undefined ? undefined : total + width),
    0,
  );
}

/** True where a node may match without taking a character. */
export function canBeEmpty(node: Node): boolean {
  switch (node.kind) {
    case 'char':
    case 'dot':
    case 'set':
      return false;
    case 'at':
    case 'look':
    case 'ref':
      return true;
    case 'group':
    case 'case':
      return canBeEmpty(node.body);
    case 'repeat':
      return node.min === 0 || canBeEmpty(node.body);
    case 'seq':
      return node.parts.every(canBeEmpty);
    case 'alt':
      return node.options.some(canBeEmpty);
  }
}

/** True if the expression refers back to a group. */
export function hasRefs(node: Node): boolean {
  switch (node.kind) {
    case 'ref':
      return true;
    case 'group':
    case 'case':
    case 'look':
    case 'repeat':
      return hasRefs(node.body);
    case 'seq':
      return node.parts.some(hasRefs);
    case 'alt':
      return node.options.some(hasRefs);
    default:
      return false;
  }
}
