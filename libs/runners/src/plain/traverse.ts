import { isMap, type SaltValue } from '@brine/wire';

const WHOLE_NUMBER = /^\s*[+-]?\d+\s*$/;

/**
 * Follows a path of keys and indexes into a value (salt/utils/data.py traverse_dict_and_list);
 * undefined if the path does not exist.
 */
export function traverse(value: SaltValue, path: readonly string[]): SaltValue | undefined {
  let at: SaltValue | undefined = value;
  for (const part of path) {
    if (at === undefined) return undefined;
    at = Array.isArray(at) ? inList(at, part) : inMap(at, part);
  }
  return at;
}

/** An item by its index, unless a map in the list has that key. */
function inList(list: readonly SaltValue[], part: string): SaltValue | undefined {
  const index = WHOLE_NUMBER.test(part) ? Number(part) : undefined;
  const holder = list.find((item) => isMap(item) && item.has(index ?? part));
  if (isMap(holder)) return holder.get(index ?? part);
  return index === undefined ? undefined : list.at(index);
}

/** A text may be the name of a numeric key. */
function inMap(map: SaltValue, part: string): SaltValue | undefined {
  if (!isMap(map)) return undefined;
  if (map.has(part)) return map.get(part);
  return WHOLE_NUMBER.test(part) ? map.get(Number(part)) : undefined;
}
