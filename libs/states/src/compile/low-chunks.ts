import { isMap, type SaltMap, type SaltValue } from '@brine/wire';
import { pyStr } from '@brine/wire/text';
import { type Chunk, copyOf, type HighData, modulesOf, sameValue, textAt } from '../values.ts';
import { CycleError, DependencyGraph } from './dependency-graph.ts';

/** Limit of states in one run: each is a step that is saved and shown. */
export const CHUNKS_MAX = 5_000;

/** States in the order in which they run, their dependencies, and their errors. */
export interface LowData {
  readonly chunks: readonly Chunk[];
  readonly graph: DependencyGraph;
  readonly errors: readonly string[];
}

/** Options of compiling high data. */
export interface CompileOptions {
  /** True if a state module reacts to a watch; without it a watch is a require. */
  readonly watches: (module: string) => boolean;
  /** `disabled_requisites`. */
  readonly disabled: ReadonlySet<string>;
  /** Set in each chunk of an orchestration. */
  readonly orchestrationJid?: string;
}

/** Makes chunks of verified high data and puts them in order (Salt: State.compile_high_data). */
export function compileHighData(high: HighData, options: CompileOptions): LowData {
  const graph = new DependencyGraph();
  const chunks: Chunk[] = [];
  for (const [id, body] of high) {
    if (!isMap(body) || pyStr(id).startsWith('__')) continue;
    for (const module of modulesOf(body)) {
      const made = chunksOf(id, module, body, options);
      if (chunks.length + made.length > CHUNKS_MAX) {
        return { chunks: [], graph, errors: [`More than ${CHUNKS_MAX} states in one run`] };
      }
      chunks.push(...made);
    }
  }
  for (const chunk of chunks) graph.addChunk(chunk);
  return { graph, ...ordered(chunks, graph, options) };
}

function chunksOf(
  id: SaltValue,
  module: string,
  body: SaltMap,
  { orchestrationJid }: CompileOptions,
): Chunk[] {
  const chunk: Chunk = new Map<SaltValue, SaltValue>([
    ['state', module],
    ['name', id],
  ]);
  if (orchestrationJid !== undefined) chunk.set('__orchestration_jid__', orchestrationJid);
  for (const field of ['__sls__', '__env__', '__sls_included_from__']) {
    const value = body.get(field);
    if (value !== undefined) chunk.set(field, value);
  }
  chunk.set('__id__', id);
  const names: SaltValue[] = [];
  let fun: string | undefined;
  const run = body.get(module);
  for (const arg of Array.isArray(run) ? run : []) {
    if (typeof arg === 'string') fun = arg;
    if (isMap(arg)) takeArgument(chunk, names, id, arg);
  }
  if (fun === undefined) return [];
  if (names.length === 0) return [withFunction(copyOf(chunk), fun)];
  return names.map((name, at) => withFunction(named(chunk, name, at + 1), fun));
}

function takeArgument(chunk: Chunk, names: SaltValue[], id: SaltValue, arg: SaltMap): void {
  for (const [key, value] of arg) {
    if (key === 'names') {
      for (const name of Array.isArray(value) ? value : []) {
        if (!names.some((known) => sameValue(known, name))) names.push(name);
      }
      // A state override is not passed down; a name that is no text gives way to the id.
    } else if (key === 'name' && typeof value !== 'string') chunk.set(key, id);
    else if (key !== 'state') chunk.set(key, value);
  }
}

function named(chunk: Chunk, entry: SaltValue, order: number): Chunk {
  const live = copyOf(chunk);
  const [first] = isMap(entry) ? entry : [[entry, null] as const];
  live.set('name', first?.[0] ?? null);
  const more = first?.[1];
  for (const extra of Array.isArray(more) ? more : []) {
    if (isMap(extra)) for (const [key, value] of extra) live.set(key, copyOf(value));
  }
  return live.set('name_order', order);
}

function withFunction(chunk: Chunk, fun: string): Chunk {
  return chunk.set('fun', fun);
}

/** Salt: State.order_chunks. */
function ordered(
  chunks: readonly Chunk[],
  graph: DependencyGraph,
  options: CompileOptions,
): { chunks: readonly Chunk[]; errors: readonly string[] } {
  const errors: string[] = [];
  let cap = 1;
  for (const chunk of chunks) {
    reconcileWatch(chunk, options);
    const error = graph.addRequisites(chunk, options.disabled);
    if (error !== undefined) {
      errors.push(error);
      continue;
    }
    const order = chunk.get('order');
    if (typeof order !== 'number' || !Number.isInteger(order)) continue;
    if (order > cap - 1 && order > 0) cap = order + 100;
  }
  try {
    return { chunks: graph.ordered(cap), errors };
  } catch (error) {
    if (!(error instanceof CycleError)) throw error;
    return { chunks: [], errors: [...errors, `Recursive requisites were found: ${error.message}`] };
  }
}

/** Turns a watch of a module that does not react to one into a require. */
function reconcileWatch(chunk: Chunk, { watches }: CompileOptions): void {
  if (watches(textAt(chunk, 'state'))) return;
  for (const [watch, require] of [
    ['watch', 'require'],
    ['watch_any', 'require_any'],
  ] as const) {
    const list = chunk.get(watch);
    if (!Array.isArray(list)) continue;
    chunk.delete(watch);
    const known = chunk.get(require);
    chunk.set(require, [...(Array.isArray(known) ? known : []), ...list]);
  }
}
