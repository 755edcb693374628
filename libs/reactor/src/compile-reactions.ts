import { copyOf, DependencyGraph, verifyHigh } from '@brine/states';
import { isMap, type SaltMap, type SaltValue } from '@brine/wire';
import { compareText, pyStr } from '@brine/wire/text';

/** The reactions of an event in their order, or the errors of its files. */
export interface CompiledReactions {
  readonly chunks: readonly SaltMap[];
  readonly errors: readonly string[];
}

/** A file with data in a form that Salt does not compile either. */
export class ReactionFormError extends Error {
  override readonly name = 'ReactionFormError';
}

/** Most reactions of one event. */
export const CHUNKS_MAX = 1_000;

/** Older names of kinds of reactions. */
const ALIASES: ReadonlyMap<SaltValue, string> = new Map([['cmd', 'local']]);

/**
 * Splits `module.function` of a rendered file into modules with their functions, and adds its path
 * to each declaration (Salt: salt/state.py Compiler.pad_funcs, salt/utils/reactor.py
 * Reactor.render_reaction). Changes the map.
 * @throws ReactionFormError if Salt can not read the file either
 */
export function declarationsOf(rendered: SaltValue, path: string): SaltMap {
  if (!isMap(rendered)) throw new ReactionFormError(`${path} does not render to a dictionary`);
  for (const [name, body] of rendered) {
    const padded = isMap(body) ? splitFunctions(body, path) : short(body);
    if (padded === undefined) {
      throw new ReactionFormError(`'${pyStr(name)}' in ${path} is no dictionary`);
    }
    padded.set('__sls__', path);
    rendered.set(name, padded);
  }
  return rendered;
}

/** `name: local.test.ping`, a declaration without arguments. */
function short(body: SaltValue): SaltMap | undefined {
  if (typeof body !== 'string' || !body.includes('.')) return undefined;
  const [state, fun] = splitOnce(body);
  return new Map<SaltValue, SaltValue>([[state, [fun]]]);
}

function splitFunctions(body: SaltMap, path: string): SaltMap {
  const states = new Set<string>();
  for (const key of keysOf(body, path)) {
    const run = body.get(key);
    if (key.startsWith('_') || !Array.isArray(run)) continue;
    if (!key.includes('.')) {
      states.add(key);
      continue;
    }
    const [state, fun] = splitOnce(key);
    // A second declaration of the same kind stays unchanged, and is refused later.
    if (states.has(state)) continue;
    body.delete(key);
    body.set(state, [...run, fun]);
    states.add(state);
  }
  return body;
}

/** Sorted, as Salt reads them. */
function keysOf(body: SaltMap, path: string): string[] {
  const keys = [...body.keys()].filter((key) => typeof key === 'string');
  if (keys.length === body.size) return keys.sort(compareText);
  throw new ReactionFormError(`${path} has a key that is no text`);
}

function splitOnce(text: string): [string, string] {
  const dot = text.indexOf('.');
  return [text.slice(0, dot), text.slice(dot + 1)];
}

/**
 * Checks the declarations of all files of an event and puts their reactions in order (Salt:
 * Reactor.reactions, salt/state.py Compiler.compile_high_data): by `order`, then by kind, name and
 * function. One error stops all of them, as in Salt.
 */
export function compileReactions(high: SaltMap): CompiledReactions {
  const wrong = verifyHigh(high);
  if (wrong.length > 0) return { chunks: [], errors: wrong };
  const graph = new DependencyGraph();
  const made: SaltMap[] = [];
  for (const [name, body] of high) {
    if (!isMap(body) || pyStr(name).startsWith('__')) continue;
    for (const [state, run] of body) {
      if (typeof state !== 'string' || state.startsWith('__')) continue;
      made.push(...chunksOf(name, state, body, Array.isArray(run) ? run : []));
    }
    if (made.length > CHUNKS_MAX) {
      return { chunks: [], errors: [`More than ${CHUNKS_MAX} reactions to one event`] };
    }
  }
  for (const chunk of made) graph.addChunk(chunk);
  return ordered(made, graph);
}

function chunksOf(
  name: SaltValue,
  state: string,
  body: SaltMap,
  run: readonly SaltValue[],
): SaltMap[] {
  const chunk: SaltMap = new Map<SaltValue, SaltValue>([
    ['state', state],
    ['name', name],
  ]);
  for (const field of ['__sls__', '__env__', '__sls_included_from__']) {
    const value = body.get(field);
    if (value !== undefined) chunk.set(field, value);
  }
  chunk.set('__id__', name);
  const names: SaltValue[] = [];
  let fun: string | undefined;
  for (const arg of run) {
    if (typeof arg === 'string') fun ??= arg;
    if (!isMap(arg)) continue;
    for (const [key, value] of arg) {
      if (key !== 'names') chunk.set(key, value);
      else for (const one of Array.isArray(value) ? value : []) addOnce(names, one);
    }
  }
  if (fun === undefined) return [];
  if (names.length === 0) return [copyOf(chunk).set('fun', fun)];
  return names.map((one, at) => named(chunk, one, at + 1).set('fun', fun ?? ''));
}

function addOnce(names: SaltValue[], name: SaltValue): void {
  if (!names.includes(name)) names.push(name);
}

function named(chunk: SaltMap, entry: SaltValue, order: number): SaltMap {
  const live = copyOf(chunk);
  const [first] = isMap(entry) ? entry : [[entry, null] as const];
  live.set('name', first?.[0] ?? null);
  const more = first?.[1];
  for (const extra of Array.isArray(more) ? more : []) {
    if (isMap(extra)) for (const [key, value] of extra) live.set(key, copyOf(value));
  }
  return live.set('name_order', order);
}

function ordered(made: readonly SaltMap[], graph: DependencyGraph): CompiledReactions {
  const errors: string[] = [];
  let cap = 1;
  for (const chunk of made) {
    const error = graph.addRequisites(chunk, new Set());
    if (error !== undefined) errors.push(error);
    const order = chunk.get('order');
    if (error !== undefined || typeof order !== 'number' || !Number.isInteger(order)) continue;
    if (order > cap - 1 && order > 0) cap = order + 100;
  }
  if (errors.length > 0) return { chunks: [], errors };
  try {
    const chunks = graph.ordered(cap);
    for (const chunk of chunks) {
      const alias = ALIASES.get(chunk.get('state') ?? null);
      if (alias !== undefined) chunk.set('state', alias);
    }
    return { chunks, errors };
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'CycleError') throw error;
    return { chunks: [], errors: [`Recursive requisites were found: ${error.message}`] };
  }
}
