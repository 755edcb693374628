import type { SaltValue } from '@brine/wire';

/**
 * A random subset of the minions that have a function (Salt: LocalClient.cmd_subset), with at most
 * `size` minions. With a negative size only the first minion of the random order can be in it.
 * @param functions returns of `sys.list_functions` by minion
 */
export function subsetOf(
  functions: ReadonlyMap<string, SaltValue>,
  fun: string | readonly string[],
  size: number,
): readonly string[] {
  const shuffled = [...functions]
    .filter((entry): entry is [string, SaltValue[]] => Array.isArray(entry[1]))
    .map(([id, names]) => ({ id, names, order: Math.random() }))
    .sort((a, b) => a.order - b.order);
  const chosen: string[] = [];
  for (const { id, names } of shuffled) {
    if (typeof fun === 'string' && names.includes(fun)) chosen.push(id);
    if (chosen.length >= size) break;
  }
  return chosen;
}
