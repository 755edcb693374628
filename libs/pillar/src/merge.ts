import { SaltFloat, type SaltMap, type SaltValue } from '@brine/wire';

const MAX_DEPTH = 200;

/**
 * Merges `other` over `first` into a new map (Salt: salt/utils/dictupdate.py). `smart` is
 * `recurse`, or `aggregate` where the renderer ends in `yamlex`; an unknown strategy is `recurse`
 * that replaces lists.
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
      return replaced(first, other);
    case 'overwrite':
      return replaced(first, other);
    case 'recurse':
      return updated(first, other, mergeLists, 0);
    default:
      return updated(first, other, false, 0);
  }
}

function mergeAsLists(first: SaltMap, other: SaltMap): SaltMap {
  const merged: SaltMap = new Map();
  for (const [key, value] of first) {
    const beside = other.get(ownKey(other, key));
    merged.set(key, beside === undefined ? value : [value, beside]);
  }
  return merged;
}

function replaced(first: SaltMap, other: SaltMap): SaltMap {
  const merged: SaltMap = new Map(first);
  for (const [key, value] of other) merged.set(ownKey(merged, key), value);
  return merged;
}

function updated(first: SaltMap, other: SaltMap, mergeLists: boolean, depth: number): SaltMap {
  if (depth > MAX_DEPTH) throw new RangeError('the pillar nests too deeply');
  const merged: SaltMap = new Map(first);
  for (const [key, value] of other) {
    const own = ownKey(merged, key);
    const before = merged.get(own);
    merged.set(own, joined(before, value, mergeLists, depth));
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
  const known = new Set(before.map((item) => sameness(item, 0)));
  return [...before, ...value.filter((item) => !known.has(sameness(item, 0)))];
}

/** The key of a map that Python takes for this one: 1, 1.0 and true are the same. */
function ownKey(map: SaltMap, key: SaltValue): SaltValue {
  if (map.has(key) || numberOf(key) === undefined) return key;
  const same = sameness(key, 0);
  for (const known of map.keys()) if (sameness(known, 0) === same) return known;
  return key;
}

/** A text that values have in common which Python takes for equal. */
function sameness(value: SaltValue, depth: number): string {
  if (depth > MAX_DEPTH) throw new RangeError('the pillar nests too deeply');
  const inner = (item: SaltValue): string => sameness(item, depth + 1);
  const number = numberOf(value);
  if (number !== undefined) return number;
  if (Array.isArray(value)) return `[${value.map(inner).join()}]`;
  // Maps of YAML are ordered ones in Salt, which differ where their keys stand otherwise.
  if (value instanceof Map)
    return `{${[...value].map((pair) => pair.map(inner).join(':')).join()}}`;
  if (value instanceof Uint8Array) return `b${Buffer.from(value).toString('hex')}`;
  return JSON.stringify(value);
}

/** A number, as which booleans count, as a text; undefined for any other value. */
function numberOf(value: SaltValue): string | undefined {
  const plain = value instanceof SaltFloat ? value.value : value;
  if (typeof plain === 'boolean') return plain ? '1' : '0';
  if (typeof plain === 'bigint') return `${plain}`;
  if (typeof plain !== 'number') return undefined;
  return Number.isInteger(plain) ? `${BigInt(plain)}` : `${plain}`;
}
