import { isMap, mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { isTruthy, pyStr } from '@brine/wire/text';
import { REQUISITE_KEYWORDS } from '../compile/requisites.ts';
import { type Chunk, listAt, tagOf, textAt } from '../values.ts';
import type { Running } from './state-run.ts';

/** The states that listeners run at the end, and results for listeners without a match. */
export interface Listening {
  readonly chunks: readonly Chunk[];
  readonly errors: Running;
}

/** A listener: the module and the id or name of its state, and the state that it names. */
interface Listener {
  readonly module: string;
  readonly key: string;
  readonly to: readonly SaltValue[];
}

/** Finds the states that `listen` and `listen_in` start after a run (Salt: State.call_listen). */
export function listening(
  chunks: readonly Chunk[],
  running: ReadonlyMap<string, SaltMap>,
): Listening {
  const found: Chunk[] = [];
  const errors: Running = new Map();
  for (const listener of listenersOf(chunks)) {
    for (const item of listener.to) {
      const target = isMap(item) ? item : named(item, chunks);
      for (const [module, name] of target ?? []) {
        const targets = matching(chunks, pyStr(module), pyStr(name));
        if (targets.length === 0) missing(errors, pyStr(module), pyStr(name));
        for (const one of targets) {
          if (!isTruthy(running.get(tagOf(one))?.get('changes'))) continue;
          const woken = matching(chunks, listener.module, listener.key);
          if (woken.length === 0) missing(errors, listener.module, listener.key);
          found.push(...woken.map(watcher));
        }
      }
    }
  }
  return { chunks: found, errors };
}

function listenersOf(chunks: readonly Chunk[]): Listener[] {
  return chunks.flatMap((chunk) => {
    const module = textAt(chunk, 'state');
    const id = textAt(chunk, '__id__');
    const own: Listener[] = chunk.has('listen')
      ? [{ module, key: id, to: listAt(chunk, 'listen') }]
      : [];
    const others = listAt(chunk, 'listen_in').flatMap((item) =>
      [...(isMap(item) ? item : [])].map(([other, name]): Listener => {
        return { module: pyStr(other), key: pyStr(name), to: [mapOf({ [module]: id })] };
      }),
    );
    return [...own, ...others];
  });
}

/** The last state of an id or name, from an item without a module. */
function named(item: SaltValue, chunks: readonly Chunk[]): SaltMap | undefined {
  const last = chunks.findLast(
    (chunk) => chunk.get('__id__') === item || chunk.get('name') === item,
  );
  return last === undefined ? undefined : mapOf({ [textAt(last, 'state')]: last.get('__id__') });
}

/** States of a module by id or name. */
function matching(chunks: readonly Chunk[], module: string, name: string): Chunk[] {
  const seen = new Set<string>();
  return chunks.filter((chunk) => {
    if (textAt(chunk, 'state') !== module) return false;
    const names = [module, textAt(chunk, '__id__'), textAt(chunk, 'name')];
    // A state that a prereq tests occurs twice among the chunks.
    const key = names.join('\0');
    if (!names.includes(name) || seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

function watcher(chunk: Chunk): Chunk {
  const watching = new Map(chunk)
    .set('sfun', chunk.get('fun') ?? null)
    .set('fun', 'mod_watch')
    .set('__id__', `listener_${textAt(chunk, '__id__')}`);
  for (const key of watching.keys()) {
    if (REQUISITE_KEYWORDS.has(pyStr(key))) watching.delete(key);
  }
  return watching;
}

function missing(errors: Running, module: string, name: string): void {
  const tag = `Listen_Error_|-listen_${name}_|-listen_${module}_|-Listen_Error`;
  errors.set(
    tag,
    mapOf({
      comment: `Referenced state ${module}: ${name} does not exist`,
      name: `listen_${module}:${name}`,
      result: false,
      changes: mapOf({}),
    }),
  );
}

/** The states that have a beacon to set up (Salt: State.call_beacons). */
export function beacons(chunks: readonly Chunk[]): Chunk[] {
  return chunks
    .filter((chunk) => chunk.has('beacon'))
    .map((chunk) =>
      new Map(chunk)
        .set('sfun', chunk.get('fun') ?? null)
        .set('fun', 'mod_beacon')
        .set('__id__', `beacon_${textAt(chunk, '__id__')}`),
    );
}
