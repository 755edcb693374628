import { isMap, type SaltMap, type SaltValue } from '@brine/wire';
import { pyRepr, pyStr } from '@brine/wire/text';

/** A state to run, with its arguments and requisites (Salt: a low chunk). */
export type Chunk = SaltMap;

/** High data: declarations by id, `__extend__` and `__exclude__` beside them. */
export type HighData = SaltMap;

/** The text under a key of a chunk; empty if absent. */
export function textAt(map: SaltMap, key: string): string {
  return pyStr(map.get(key) ?? '');
}

/** The key of a state's result: module, id, name and function. */
export function tagOf(chunk: Chunk): string {
  const [state, id, name, fun] = ['state', '__id__', 'name', 'fun'].map((key) =>
    textAt(chunk, key),
  );
  return `${state}_|-${id}_|-${name}_|-${fun}`;
}

/** A deep copy of a value. */
export function copyOf(value: SaltMap): SaltMap;
export function copyOf(value: SaltValue): SaltValue;
export function copyOf(value: SaltValue): SaltValue {
  if (Array.isArray(value)) return value.map((item) => copyOf(item));
  if (!isMap(value)) return value;
  return new Map([...value].map(([key, item]) => [key, copyOf(item)]));
}

/** Python's `==` of two values; the order of keys does not count. */
export function sameValue(a: SaltValue | undefined, b: SaltValue | undefined): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, at) => sameValue(item, b[at]));
  }
  if (!isMap(a) || !isMap(b) || a.size !== b.size) return false;
  return [...a].every(([key, item]) => b.has(key) && sameValue(item, b.get(key)));
}

/** A value as Python shows data of a YAML file: maps are ordered dictionaries there. */
export function yamlRepr(value: SaltValue): string {
  if (Array.isArray(value)) return `[${value.map(yamlRepr).join(', ')}]`;
  if (!isMap(value)) return pyRepr(value);
  if (value.size === 0) return 'OrderedDict()';
  const pairs = [...value].map(([key, item]) => `(${yamlRepr(key)}, ${yamlRepr(item)})`);
  return `OrderedDict([${pairs.join(', ')}])`;
}

/** As {@link yamlRepr}; a text is shown as it is. */
export function yamlText(value: SaltValue): string {
  return typeof value === 'string' ? value : yamlRepr(value);
}

/** The first key of a map as text; undefined for an empty one. */
export function firstKey(map: SaltMap): string | undefined {
  for (const key of map.keys()) return pyStr(key);
  return undefined;
}

/** The state modules of a declaration: its keys that are not Salt's own. */
export function modulesOf(body: SaltMap): string[] {
  return [...body.keys()].map(pyStr).filter((key) => !key.startsWith('__'));
}

/** The list under a key; any other value is the only item of a list. */
export function listAt(map: SaltMap, key: string): SaltValue[] {
  const value = map.get(key);
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value : [value];
}
