import { typeName } from '@brine/jinja';
import { isMap, type SaltValue } from '@brine/wire';

/**
 * Where Salt's pillar compiler ends with an exception of Python, and the minion gets no pillar: its
 * class is the name, its text the message.
 */
export class RaisedError extends Error {
  override readonly name: string;
  readonly code = 'SALT_PILLAR_RAISED';

  constructor(name: string, message: string) {
    super(message);
    this.name = name;
  }
}

/** The text of Salt's merge for what is no map. */
export const NOT_A_MAP = 'Cannot update using non-dict types in dictupdate.update()';

/** The class of a value that YAML made, as Python names it in its errors. */
export function pythonType(value: SaltValue): string {
  return isMap(value) ? 'collections.OrderedDict' : typeName(value);
}

/** What Python walks through: the members of a list, the letters of a text, the keys of a map. */
export function walked(value: SaltValue): SaltValue[] {
  if (Array.isArray(value)) return value;
  if (typeof value === 'string') return [...value];
  if (isMap(value)) return [...value.keys()];
  if (value instanceof Uint8Array) return [...value];
  throw new RaisedError('TypeError', `'${pythonType(value)}' object is not iterable`);
}
