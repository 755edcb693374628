import { compareText } from '@brine/wire/text';

/** The order of nodes that may run. */
export interface NodeRank {
  /** Its order, or the lower one of a node that waits for it. */
  readonly order: number;
  /** Its own order. */
  readonly own: number;
  readonly label: string;
  readonly node: string;
}

/** Nodes that may run, lowest order first. */
export class NodeHeap {
  readonly #items: NodeRank[] = [];

  /** Adds a node. */
  push(item: NodeRank): void {
    const items = this.#items;
    items.push(item);
    for (let at = items.length - 1; at > 0;) {
      const parent = (at - 1) >> 1;
      if (!this.#swapIfAfter(parent, at)) break;
      at = parent;
    }
  }

  /** Takes the first node out, or returns undefined. */
  pop(): NodeRank | undefined {
    const items = this.#items;
    const first = items[0];
    const last = items.pop();
    if (last === undefined || items.length === 0) return first;
    items[0] = last;
    for (let at = 0; ;) {
      const [left, right] = [2 * at + 1, 2 * at + 2];
      if (left >= items.length) break;
      const child = right < items.length && this.#isAfter(left, right) ? right : left;
      if (!this.#swapIfAfter(at, child)) break;
      at = child;
    }
    return first;
  }

  #isAfter(one: number, other: number): boolean {
    const [a, b] = [this.#items[one], this.#items[other]];
    return a !== undefined && b !== undefined && compareRanks(a, b) > 0;
  }

  #swapIfAfter(one: number, other: number): boolean {
    const [a, b] = [this.#items[one], this.#items[other]];
    if (a === undefined || b === undefined || compareRanks(a, b) <= 0) return false;
    [this.#items[one], this.#items[other]] = [b, a];
    return true;
  }
}

/** Compares two nodes as Python compares tuples; the lower one runs first. */
function compareRanks(a: NodeRank, b: NodeRank): number {
  // A difference of two infinite orders is NaN.
  if (a.order !== b.order) return a.order < b.order ? -1 : 1;
  if (a.own !== b.own) return a.own < b.own ? -1 : 1;
  return compareText(a.label, b.label) || compareText(a.node, b.node);
}
