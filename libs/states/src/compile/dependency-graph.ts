import { matchGlob } from '@brine/target';
import { isMap, SaltFloat, type SaltMap, type SaltValue } from '@brine/wire';
import { pyStr } from '@brine/wire/text';
import { type Chunk, firstKey, listAt, tagOf, textAt } from '../values.ts';
import { Digraph } from './digraph.ts';
import { NodeHeap, type NodeRank } from './node-heap.ts';
import { EDGE_REQUISITES, type Requisite, REQUISITES, weightOf } from './requisites.ts';

/** Requisites that lead back to their own state; the message shows the cycle. */
export class CycleError extends Error {
  override readonly name = 'CycleError';
}

/** The order of states that run last, beyond all numbered ones (Salt: cap + 1000000). */
const LAST = 1_000_000;

/** The dependencies between the states of a run (Salt: salt/utils/requisite.py DependencyGraph). */
export class DependencyGraph {
  readonly #graph = new Digraph();
  /** Nodes by module (or `id`) and by id and name. */
  readonly #byName = new Map<string, Map<string, Set<string>>>();
  readonly #bySls = new Map<string, Set<string>>();

  /** Adds a state. */
  addChunk(chunk: Chunk): void {
    const node = tagOf(chunk);
    this.#graph.nodes.set(node, { chunk });
    for (const key of [textAt(chunk, 'state'), 'id']) {
      for (const name of [textAt(chunk, 'name'), textAt(chunk, '__id__')]) {
        const names = this.#byName.get(key) ?? new Map<string, Set<string>>();
        this.#byName.set(key, names);
        names.set(name, (names.get(name) ?? new Set()).add(node));
      }
    }
    const files = [chunk.get('__sls__'), ...listAt(chunk, '__sls_included_from__')];
    for (const file of files) {
      if (typeof file !== 'string' || file === '') continue;
      this.#bySls.set(file, (this.#bySls.get(file) ?? new Set()).add(node));
    }
  }

  /** Adds the requisites of a state. Returns their error, if any. */
  addRequisites(chunk: Chunk, disabled: ReadonlySet<string>): string | undefined {
    if (!REQUISITES.some((kind) => chunk.has(kind))) return undefined;
    const sls = pyStr(chunk.get('__sls__') ?? null);
    const place = `in state [${textAt(chunk, 'name')}] in SLS [${sls}]`;
    for (const kind of EDGE_REQUISITES) {
      if (disabled.has(kind)) continue;
      for (const item of listAt(chunk, kind)) {
        const [key, value] = referenceOf(item);
        if (value === null) continue;
        if (typeof value !== 'string') {
          return `Requisite [${kind}: ${key}] ${place} must have a string as the value`;
        }
        if (!this.#addDependency(chunk, kind, key, value)) {
          const requisite = `requisite [${kind}: (${key}: ${value})]`;
          return `Referenced state does not exist for ${requisite} ${place}`;
        }
      }
    }
    return undefined;
  }

  /** The states that a state depends on, with the kind. */
  dependenciesOf(chunk: Chunk): (readonly [Requisite, Chunk])[] {
    const tag = tagOf(chunk);
    const node = chunk.get('__prereq__') === true ? testOf(tag) : tag;
    return this.#graph.edgesInto(node).flatMap(([from, kind]) => {
      const found = this.#graph.nodes.get(from);
      return found === undefined ? [] : [[kind, found.chunk] as const];
    });
  }

  /**
   * The states in the order in which they run; a state that a prereq tests first occurs twice.
   * @throws CycleError
   */
  ordered(cap: number): Chunk[] {
    const waiting = new Map<string, number>();
    const heap = new NodeHeap();
    for (const node of this.#graph.nodes.keys()) {
      const count = this.#graph.edgesInto(node).length;
      waiting.set(node, count);
      if (count === 0) heap.push(this.#rankOf(node, cap));
    }
    const chunks: Chunk[] = [];
    for (let first = heap.pop(); first !== undefined; first = heap.pop()) {
      const chunk = this.#graph.nodes.get(first.node)?.chunk;
      if (chunk !== undefined) chunks.push(chunk);
      for (const [to] of this.#graph.edgesFrom(first.node)) {
        const left = (waiting.get(to) ?? 0) - 1;
        waiting.set(to, left);
        if (left === 0) heap.push(this.#rankOf(to, cap));
      }
    }
    if (chunks.length !== this.#graph.nodes.size) throw new CycleError(this.#cycleText());
    return chunks;
  }

  #addDependency(chunk: Chunk, kind: Requisite, key: string, value: string): boolean {
    const node = tagOf(chunk);
    const isPattern = /[*?[\]]/.test(value);
    const known = this.#byName.get(key) ?? new Map<string, Set<string>>();
    const names = key === 'sls' ? this.#bySls : known;
    const matching: ReadonlySet<string>[] = isPattern
      ? [...names].filter(([name]) => matchGlob(value, name)).map(([, nodes]) => nodes)
      : [names.get(value)].flatMap((nodes) => (nodes === undefined ? [] : [nodes]));
    const isTested = chunk.get('__prereq__') === true;
    for (const nodes of matching) this.#addEdges(node, isTested, kind, nodes);
    return matching.length > 0 || (isPattern && key === 'sls');
  }

  #addEdges(node: string, isTested: boolean, kind: Requisite, from: ReadonlySet<string>): void {
    for (const required of from) {
      if (kind === 'prereq') {
        this.#addPrereq(node, required);
        continue;
      }
      // The test of a state needs what the state needs.
      if (isTested) this.#graph.addEdge(required, testOf(node), kind);
      this.#graph.addEdge(required, node, kind);
    }
  }

  /** `node` runs before `required`, but only if a test of `required` shows changes. */
  #addPrereq(node: string, required: string): void {
    const { nodes } = this.#graph;
    nodes.get(node)?.chunk.set('__prerequiring__', true);
    const tested = nodes.get(required)?.chunk;
    if (tested === undefined) return;
    tested.set('__prereq__', true);
    const test = testOf(required);
    if (!nodes.has(test)) {
      nodes.set(test, { chunk: tested });
      for (const [from, kind] of this.#graph.edgesInto(required)) {
        if (kind !== 'prereq') this.#graph.addEdge(from, test, kind);
      }
    }
    this.#graph.addEdge(test, node, 'prereq');
    this.#graph.addEdge(node, required, 'require');
    if (nodes.has(testOf(node))) this.#graph.addEdge(test, testOf(node), 'prereq');
  }

  #chunkOf(node: string): Chunk {
    return this.#graph.nodes.get(node)?.chunk ?? new Map<SaltValue, SaltValue>();
  }

  #rankOf(node: string, cap: number): NodeRank {
    const chunk = this.#chunkOf(node);
    const order = this.#orderOf(node, chunk, cap);
    const label = ['state', 'name', 'fun'].map((key) => textAt(chunk, key)).join('');
    return { order, own: numberOf(chunk.get('order')) ?? cap, label, node };
  }

  /**
   * The order of a state: its own, or that of the first that waits for it (Salt:
   * DependencyGraph._get_chunk_order). Writes its own into the chunk.
   */
  #orderOf(node: string, chunk: Chunk, cap: number): number {
    let order = numeric(chunk.get('order'), cap);
    const nameOrder = numberOf(chunk.get('name_order')) ?? 0;
    chunk.delete('name_order');
    if (nameOrder > 0) order += nameOrder / 10_000;
    if (order < 0) order += cap + LAST;
    chunk.set('order', order);
    const found = this.#graph.nodes.get(node);
    if (found === undefined || found.lowestChild !== undefined) return order;
    let lowest = Number.POSITIVE_INFINITY;
    let weight = Number.NEGATIVE_INFINITY;
    for (const [child, kind] of this.#graph.edgesFrom(node)) {
      if (weight > weightOf(kind)) continue;
      weight = weightOf(kind);
      lowest = Math.min(lowest, this.#childOrder(child, cap));
    }
    found.lowestChild = lowest;
    return Math.min(order, lowest);
  }

  #childOrder(child: string, cap: number): number {
    const chunk = this.#graph.nodes.get(child)?.chunk;
    if (chunk?.has('order') !== true) return Number.POSITIVE_INFINITY;
    const order = numeric(chunk.get('order'), cap);
    chunk.set('order', order);
    return order;
  }

  #cycleText(): string {
    return this.#graph
      .findCycle()
      .map(([from, to, kind]) => {
        const [required, holder] = [this.#chunkOf(from), this.#chunkOf(to)];
        const shown = kind === 'require' && !holder.has('require') ? 'prereq' : kind;
        return `(${shownChunk(holder)}, '${shown}', ${shownChunk(required)})`;
      })
      .join(', ');
  }
}

/** The node of the test that a prereq asks for. */
function testOf(tag: string): string {
  return `${tag}_|-__prereq_test__`;
}

/** The module (or `id`) and name of a requisite. */
function referenceOf(item: SaltValue): readonly [string, SaltValue] {
  if (!isMap(item)) return ['id', item];
  const key = firstKey(item) ?? 'id';
  const [value = null] = item.values();
  const dot = key.indexOf('.');
  return [dot < 0 ? key : key.slice(0, dot), value];
}

function shownChunk(chunk: SaltMap): string {
  const shown: SaltMap = new Map([
    ['SLS', chunk.get('__sls__') ?? null],
    ['ID', chunk.get('__id__') ?? null],
  ]);
  const name = chunk.get('name') ?? null;
  if (name !== chunk.get('__id__')) shown.set('NAME', name);
  return pyStr(shown);
}

function numberOf(value: SaltValue | undefined): number | undefined {
  if (typeof value === 'number') return value;
  return value instanceof SaltFloat ? value.value : undefined;
}

function numeric(order: SaltValue | undefined, cap: number): number {
  const number = numberOf(order);
  if (number !== undefined) return number;
  if (order === 'last') return cap + LAST;
  return order === 'first' ? 0 : cap;
}
