import type { Chunk } from '../values.ts';
import type { Requisite } from './requisites.ts';

/** A node of the graph: a chunk, or the test of a chunk that a prereq asks for. */
export interface GraphNode {
  readonly chunk: Chunk;
  /** The lowest order of its dependents, once known. */
  lowestChild?: number;
}

/** Edges from one node to others, by kind. */
type Edges = Map<string, Map<string, Set<Requisite>>>;

/** A directed graph with several kinds of edges between two nodes. */
export class Digraph {
  readonly nodes = new Map<string, GraphNode>();
  readonly #out: Edges = new Map();
  readonly #in: Edges = new Map();

  /** Adds an edge; idempotent. */
  addEdge(from: string, to: string, kind: Requisite): void {
    add(this.#out, from, to, kind);
    add(this.#in, to, from, kind);
  }

  /** Edges that end in a node: their start, and their kind. */
  edgesInto(node: string): (readonly [from: string, kind: Requisite])[] {
    return pairs(this.#in, node);
  }

  /** Edges that begin in a node: their end, and their kind. */
  edgesFrom(node: string): (readonly [to: string, kind: Requisite])[] {
    return pairs(this.#out, node);
  }

  /** The edges of a cycle; empty without a cycle. */
  findCycle(): (readonly [from: string, to: string, kind: Requisite])[] {
    const done = new Set<string>();
    for (const start of this.nodes.keys()) {
      if (done.has(start)) continue;
      const cycle = this.#cycleFrom(start, done);
      if (cycle !== undefined) return cycle;
    }
    return [];
  }

  #cycleFrom(
    start: string,
    done: Set<string>,
  ): (readonly [string, string, Requisite])[] | undefined {
    // Depth first without recursion: a chain may have all states of a run.
    const path = [{ node: start, edges: this.edgesFrom(start), via: undefined as Via | undefined }];
    const open = new Set([start]);
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const edge = top.edges.shift();
      if (edge === undefined) {
        open.delete(top.node);
        done.add(top.node);
        path.pop();
        continue;
      }
      const [to, kind] = edge;
      const via: Via = [top.node, to, kind];
      if (open.has(to)) {
        const from = path.findIndex(({ node }) => node === to);
        return [...path.slice(from + 1).flatMap((step) => (step.via ? [step.via] : [])), via];
      }
      if (done.has(to)) continue;
      open.add(to);
      path.push({ node: to, edges: this.edgesFrom(to), via });
    }
    return undefined;
  }
}

type Via = readonly [from: string, to: string, kind: Requisite];

function add(edges: Edges, one: string, other: string, kind: Requisite): void {
  const ends = edges.get(one) ?? new Map<string, Set<Requisite>>();
  edges.set(one, ends);
  const kinds = ends.get(other) ?? new Set<Requisite>();
  ends.set(other, kinds.add(kind));
}

function pairs(edges: Edges, node: string): (readonly [string, Requisite])[] {
  const ends = edges.get(node);
  if (ends === undefined) return [];
  return [...ends].flatMap(([end, kinds]) => [...kinds].map((kind) => [end, kind] as const));
}
