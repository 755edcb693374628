import { isDeepStrictEqual } from 'node:util';
import type { SaltMap, SaltValue } from '@brine/wire';

const MAX_DEPTH = 200;

/**
 * Merges `other` over `first` into a new map (Salt: salt/utils/dictupdate.py). An unknown strategy
 * is `recurse`; `smart` is `recurse`, or `aggregate` where the renderer ends in `yamlex`.
 * @throws RangeError for maps that nest without end
 */
export function mergePillars(
  first: SaltMap,
  other: SaltMap,
  strategy: string,
  renderer: string,
  mergeLists: boolean,
): SaltMap {
  const yamlex = renderer.split('|').at(-1) === 'yamlex' || renderer.startsWith('yamlex_');
  switch (strategy === 'smart' ? (yamlex ? 'aggregate' : 'recurse') : strategy) {
    case 'list':
      return mergeAsLists(first, other);
    case 'aggregate':
      // Only values of `!aggregate` are joined; YAML without that tag has none.
      return new Map([...first, ...other]);
    case 'overwrite':
      return new Map([...first, ...other]);
    case 'none':
      return updated(first, other, false, 0);
    default:
      return updated(first, other, mergeLists, 0);
  }
}

function mergeAsLists(first: SaltMap, other: SaltMap): SaltMap {
  const merged: SaltMap = new Map();
  for (const [key, value] of first) {
    const beside = other.get(key);
    merged.set(key, beside === undefined ? value : [value, beside]);
  }
  return merged;
}

function updated(first: SaltMap, other: SaltMap, mergeLists: boolean, depth: number): SaltMap {
  if (depth > MAX_DEPTH) throw new RangeError('the pillar nests too deeply');
  const merged: SaltMap = new Map(first);
  for (const [key, value] of other) {
    const before = merged.get(key);
    merged.set(key, joined(before, value, mergeLists, depth));
  }
  return merged;
}

function joined(
  before: SaltValue | undefined,
  value: SaltValue,
  mergeLists: boolean,
  depth: number,
): SaltValue {
  if (before instanceof Map && value instanceof Map) {
    return updated(before, value, mergeLists, depth + 1);
  }
  if (!mergeLists || !Array.isArray(before) || !Array.isArray(value)) return value;
  // What stands twice in the second list comes twice (Salt: salt/utils/dictupdate.py update).
  const more = value.filter((item) => !before.some((known) => isDeepStrictEqual(known, item)));
  return [...before, ...more];
}
