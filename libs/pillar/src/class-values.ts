import { equal, isDict, isList, typeName } from '@brine/jinja';

/*
 * How saltclass merges and expands (salt/utils/saltclass.py). In place, and values are shared
 * among classes as there: what a later class adds to a list, earlier ones have too.
 */

/** A map of YAML. */
export type Dict = Map<unknown, unknown>;

/** First in a list: it takes the place of the list below instead of growing it. */
const OVERRIDE = '^';

/** Longest text that expanding may make. */
const TEXT_MAX = 1_048_576;

/** Variables that the values of one minion may have expanded. */
const EXPANDED_MAX = 20_000;

/** A tree of classes that cannot be merged; the text is Python's. */
export class SaltclassError extends Error {
  override readonly name = 'SaltclassError';
  readonly code = 'SALT_SALTCLASS';
}

/**
 * Puts one map over another: maps merge, lists grow unless the upper one begins with `^`.
 * @throws SaltclassError for an empty list above another one, which Salt fails at
 */
export function mergeClass(below: Dict, above: unknown): Dict {
  for (const [key, value] of entriesOf(above)) {
    const known = below.get(key);
    if (isList(known) && isList(value)) {
      if (value.length === 0) throw new SaltclassError('list index out of range');
      if (equal(value[0], OVERRIDE)) {
        value.shift();
        below.set(key, value);
      } else {
        // A copy: a list that stands below itself doubles, as in Python.
        for (const item of [...value]) known.push(item);
      }
    } else if (isDict(known) && isDict(value)) {
      mergeClass(known, value);
    } else if (!below.has(key) || !equal(known, value)) {
      below.set(key, value);
    }
  }
  return below;
}

function entriesOf(value: unknown): Iterable<[unknown, unknown]> {
  if (isDict(value)) return value;
  if (isList(value) || typeof value === 'string') {
    if (value.length === 0) return [];
    const text = isList(value)
      ? `list indices must be integers or slices, not ${typeName(value[0])}`
      : "string indices must be integers, not 'str'";
    throw new SaltclassError(text);
  }
  throw new SaltclassError(`'${typeName(value)}' object is not iterable`);
}

/** Expands `${a:b}` in the texts of a pillar; `\${a:b}` loses its backslash. */
export class Expansion {
  readonly #whole: Dict;
  #left = EXPANDED_MAX;

  constructor(pillar: Dict) {
    this.#whole = new Map(pillar);
    this.#expand(pillar);
  }

  /** The pillar with its variables expanded. */
  get pillar(): Dict {
    return this.#whole;
  }

  #expand(map: Dict): void {
    for (const value of map.values()) {
      if (isDict(value)) this.#expand(value);
      else if (typeof value === 'string') this.#expandText(value);
      else if (isList(value)) {
        for (const item of value) {
          if (isDict(item)) this.#expand(item);
          if (typeof item === 'string') this.#expandText(item);
        }
      }
    }
  }

  #expandText(text: string): void {
    let shown = text;
    for (const [found] of text.matchAll(/(?:^|[^\n])\$\{[^\n]*?\}/g)) {
      if ((this.#left -= 1) < 0) throw new SaltclassError('too many variables');
      if (found.startsWith('\\')) {
        // A later variable in the same text is not expanded: Salt's known limitation.
        replaceIn(this.#whole, shown, shown.split(found).join(found.slice(1)));
        continue;
      }
      const name = found.startsWith('$') ? found : found.slice(1);
      const value = this.#valueOf(name);
      if (typeof value !== 'string') {
        throw new SaltclassError(`replace() argument 2 must be str, not ${typeName(value)}`);
      }
      const next = shown.split(name).join(value);
      if (next.length > TEXT_MAX) throw new SaltclassError('a text grows above 1 MiB');
      replaceIn(this.#whole, shown, next);
      shown = next;
    }
  }

  /** What a variable names; itself where there is nothing. */
  #valueOf(variable: string): unknown {
    let found: unknown = this.#whole;
    for (const key of variable.slice(2, -1).split(':')) {
      if (found === null) return variable;
      if (isDict(found)) {
        if (!found.has(key)) return variable;
        found = found.get(key);
      } else if (isList(found) || typeof found === 'string') {
        const has = isList(found) ? found.some((item) => equal(item, key)) : found.includes(key);
        if (!has) return variable;
        throw new SaltclassError(`'${typeName(found)}' object has no attribute 'get'`);
      } else {
        throw new SaltclassError(`argument of type '${typeName(found)}' is not iterable`);
      }
    }
    return found;
  }
}

/** Each text that equals the old one becomes the new one, wherever it stands. */
function replaceIn(map: Dict, old: string, text: string): void {
  for (const [key, value] of map) {
    if (isDict(value)) replaceIn(value, old, text);
    else if (isList(value)) {
      for (const [at, item] of value.entries()) {
        if (isDict(item)) replaceIn(item, old, text);
        else if (item === old) value[at] = text;
      }
    } else if (value === old) map.set(key, text);
  }
}
