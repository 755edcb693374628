import { isMap, type SaltMap, type SaltValue } from '@brine/wire';

/** Arguments that Salt gives to each external pillar, before the configured ones. */
const GIVEN = ['minion_id', 'pillar'];

/**
 * The arguments of an external pillar by name, from its entry in `ext_pillar`: a map has keywords,
 * a list has positions, any other value is the first (Salt: salt/pillar/__init__.py
 * _external_pillar_data). Optional arguments may be absent.
 * @throws TypeError with Python's text
 */
export function callArguments(
  args: SaltValue,
  needed: readonly string[],
  others: readonly string[] = [],
): SaltMap {
  const names = [...needed, ...others];
  const [positional, keywords] = isMap(args)
    ? [[], args]
    : [Array.isArray(args) ? args : [args], new Map<SaltValue, SaltValue>()];
  if (positional.length > names.length) {
    const most = GIVEN.length + names.length;
    const least = GIVEN.length + needed.length;
    const takes = others.length === 0 ? `${most}` : `from ${least} to ${most}`;
    const were = GIVEN.length + positional.length;
    throw new TypeError(`ext_pillar() takes ${takes} positional arguments but ${were} were given`);
  }
  const found: SaltMap = new Map();
  positional.forEach((value, at) => found.set(names[at] ?? '', value));
  for (const [name, value] of keywords) {
    if (typeof name !== 'string') throw new TypeError('keywords must be strings');
    if (GIVEN.includes(name)) {
      throw new TypeError(`ext_pillar() got multiple values for argument '${name}'`);
    }
    if (!names.includes(name)) {
      throw new TypeError(`ext_pillar() got an unexpected keyword argument '${name}'`);
    }
    found.set(name, value);
  }
  const missing = needed.find((name) => !found.has(name));
  if (missing === undefined) return found;
  throw new TypeError(`ext_pillar() missing 1 required positional argument: '${missing}'`);
}
