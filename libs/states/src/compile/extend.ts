import { isMap, type SaltMap, type SaltValue } from '@brine/wire';
import { pyStr } from '@brine/wire/text';
import { firstKey, type HighData, modulesOf, textAt } from '../values.ts';
import { findName } from './find.ts';
import { REQUISITE_KEYWORDS } from './requisites.ts';

/**
 * Moves `__extend__` from the high data into the declarations that it names (Salt:
 * State.reconcile_extend). Returns its errors.
 */
export function reconcileExtend(high: HighData, strict: boolean): string[] {
  const extensions = high.get('__extend__');
  high.delete('__extend__');
  if (!Array.isArray(extensions)) return [];
  const errors: string[] = [];
  for (const extension of extensions) {
    if (!isMap(extension)) continue;
    for (const [name, body] of extension) {
      if (!isMap(body)) continue;
      const error = extendOne(high, name, body, strict);
      if (error !== undefined) errors.push(error);
    }
  }
  return errors;
}

function extendOne(
  high: HighData,
  asked: SaltValue,
  body: SaltMap,
  strict: boolean,
): string | undefined {
  const [module] = modulesOf(body);
  const known = high.get(asked);
  let id = asked;
  if (module === undefined || !isMap(known) || !known.has(module)) {
    const places = module === undefined ? [] : findName(asked, module, high, strict);
    const [only] = places;
    if (places.length !== 1 || only === undefined) return cannotExtend(asked, body);
    [id] = only;
  }
  if (excludedSls(high).has(body.get('__sls__') ?? null)) return undefined;
  const target = high.get(id);
  if (!isMap(target)) return cannotExtend(asked, body);
  for (const state of modulesOf(body)) {
    const run = body.get(state) ?? null;
    const present = target.get(state);
    if (Array.isArray(present) && Array.isArray(run)) extendRun(present, run);
    else target.set(state, run);
  }
  return undefined;
}

/** SLS files that are excluded by name: their extensions do not count. */
function excludedSls(high: HighData): Set<SaltValue> {
  const excludes = high.get('__exclude__');
  const names = (Array.isArray(excludes) ? excludes : []).map((exclude) =>
    isMap(exclude) ? (exclude.get('sls') ?? null) : exclude,
  );
  return new Set(names.filter((name) => name !== null));
}

function extendRun(present: SaltValue[], run: readonly SaltValue[]): void {
  for (const arg of run) {
    let updated = false;
    for (const [at, old] of present.entries()) {
      if (typeof arg === 'string' && typeof old === 'string') {
        present[at] = arg;
        updated = true;
      }
      if (isMap(arg) && isMap(old) && extendArgument(present, at, arg, old)) updated = true;
    }
    if (!updated) present.push(arg);
  }
}

/** Extends an argument if it has the name of the new one; otherwise returns false. */
function extendArgument(present: SaltValue[], at: number, arg: SaltMap, old: SaltMap): boolean {
  const key = firstKey(arg);
  if (key === undefined) return false;
  const oldKey = firstKey(old);
  if (key === 'name' && oldKey === 'names') present[at] = arg;
  if (key !== oldKey) return false;
  const [more, list] = [arg.get(key), old.get(key)];
  if (REQUISITE_KEYWORDS.has(key) && Array.isArray(more) && Array.isArray(list)) {
    list.push(...more);
  } else present[at] = arg;
  return true;
}

function cannotExtend(id: SaltValue, body: SaltMap): string {
  const name = pyStr(id);
  const env = textAt(body, '__env__') || 'base';
  const sls = textAt(body, '__sls__') || 'base';
  return (
    `Cannot extend ID '${name}' in '${env}:${sls}'. It is not part of the high state.\n` +
    'This is likely due to a missing include statement or an incorrectly typed ID.\n' +
    `Ensure that a state with an ID of '${name}' is available\n` +
    `in environment '${env}' and to SLS '${sls}'`
  );
}
