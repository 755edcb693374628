import { isMap, type SaltMap, type SaltValue } from '@brine/wire';
import { pyStr } from '@brine/wire/text';
import { type HighData, modulesOf } from '../values.ts';

/** A declaration of high data: its id and one of its modules. */
export type Place = readonly [id: SaltValue, module: string];

/** Places of high data with this id or name (Salt: find_name). */
export function findName(
  name: SaltValue,
  module: string,
  high: HighData,
  strict: boolean,
): Place[] {
  const body = high.get(name);
  const has = isMap(body) && body.has(module);
  if (high.has(name) && (!strict || has)) return [[name, module]];
  const found: Place[] = [];
  for (const [id, item] of high) {
    if (!isMap(item)) continue;
    if (module === 'sls') {
      const [first] = item.keys();
      if (item.get('__sls__') === name && first !== undefined) found.push([id, pyStr(first)]);
      continue;
    }
    const run = item.get(module);
    if (!Array.isArray(run)) continue;
    for (const arg of run) {
      if (!isMap(arg) || arg.size !== 1) continue;
      const [value] = arg.values();
      if (value === name) found.push([id, module]);
    }
  }
  return found;
}

/** Places of all states of an SLS file (Salt: find_sls_ids). */
export function findSlsIds(sls: SaltValue, high: HighData): Place[] {
  const found: Place[] = [];
  for (const [id, item] of high) {
    if (!isMap(item) || item.get('__sls__') !== sls) continue;
    for (const module of modulesOf(item)) found.push([id, module]);
  }
  return found;
}

/** Names of the arguments of a declaration (Salt: state_args). */
export function argumentsAt(id: SaltValue, module: string, high: HighData): Set<string> {
  const body = high.get(id);
  const run = isMap(body) ? body.get(module) : undefined;
  const single = Array.isArray(run) ? run.filter((arg) => isMap(arg) && arg.size === 1) : [];
  return new Set(single.flatMap((arg) => [...(arg as SaltMap).keys()].map(pyStr)));
}
