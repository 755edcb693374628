import type { SaltValue } from '@brine/wire';

/**
 * A random part of the minions, of those that have a function (Salt: LocalClient.cmd_subset). It
 * has `size` of them; fewer where there are fewer. With a negative size only the first that is
 * looked at can be in it.
 * @param functions what each minion returned for `sys.list_functions`
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
