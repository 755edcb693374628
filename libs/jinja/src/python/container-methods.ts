import { bind, wholeNumber } from '../arguments.ts';
import { JinjaError, typeError, valueError } from '../errors.ts';
import { equal } from './equality.ts';
import { sorted } from './operators.ts';
import { repr } from './text.ts';
import {
  type CallArguments,
  type Dict,
  isDict,
  iterate,
  keyIn,
  knownKey,
  PyFunction,
  truth,
  tupleOf,
  Undefined,
} from './values.ts';

type Methods<T> = ReadonlyMap<string, (value: T, args: CallArguments) => unknown>;

/** Python's methods of `dict`. `items`, `keys` and `values` give lists, not views. */
export const DICT_METHODS: Methods<Dict> = new Map<
  string,
  (dict: Dict, args: CallArguments) => unknown
>([
  ['clear', (dict) => nothing(dict.clear())],
  ['copy', (dict) => new Map(dict)],
  [
    'get',
    (dict, { positional: [key, otherwise = null] }) => {
      const found = dict.get(keyIn(dict, key));
      return found === undefined ? otherwise : found;
    },
  ],
  ['items', (dict) => [...dict].map((entry) => tupleOf(entry))],
  ['keys', (dict) => [...dict.keys()]],
  ['pop', (dict, args) => popKey(dict, args)],
  ['popitem', (dict) => popItem(dict)],
  [
    'setdefault',
    (dict, { positional: [key, value = null] }) => {
      const name = keyIn(dict, key);
      if (!dict.has(name)) dict.set(name, value);
      return dict.get(name);
    },
  ],
  ['update', (dict, args) => nothing(update(dict, args))],
  ['values', (dict) => [...dict.values()]],
]);

/** Python's methods of `list`. */
export const LIST_METHODS: Methods<unknown[]> = new Map<
  string,
  (list: unknown[], args: CallArguments) => unknown
>([
  ['append', (list, { positional: [value] }) => nothing(list.push(value))],
  ['clear', (list) => nothing((list.length = 0))],
  ['copy', (list) => [...list]],
  ['count', (list, { positional: [value] }) => list.filter((item) => equal(item, value)).length],
  ['extend', (list, { positional: [more] }) => nothing(list.push(...iterate(more)))],
  ['index', (list, args) => indexOf(list, args, 'list')],
  [
    'insert',
    (list, { positional: [at, value] }) => nothing(list.splice(wholeNumber(at), 0, value)),
  ],
  ['pop', (list, args) => popAt(list, args)],
  ['remove', (list, { positional: [value] }) => removeValue(list, value)],
  ['reverse', (list) => nothing(list.reverse())],
  ['sort', (list, args) => sortInPlace(list, args)],
]);

/** Python's methods of `tuple`. */
export const TUPLE_METHODS: Methods<unknown[]> = new Map<
  string,
  (list: unknown[], args: CallArguments) => unknown
>([
  ['count', (list, { positional: [value] }) => list.filter((item) => equal(item, value)).length],
  ['index', (list, args) => indexOf(list, args, 'tuple')],
]);

function nothing(_done: unknown): null {
  return null;
}

function popKey(dict: Dict, { positional }: CallArguments): unknown {
  const key = keyIn(dict, positional[0]);
  if (!dict.has(key)) {
    if (positional.length > 1) return positional[1];
    throw new JinjaError('KeyError', repr(positional[0]));
  }
  const value = dict.get(key);
  dict.delete(key);
  return value;
}

function popItem(dict: Dict): unknown {
  const last = [...dict].at(-1);
  if (last === undefined) throw new JinjaError('KeyError', "'popitem(): dictionary is empty'");
  dict.delete(last[0]);
  return tupleOf(last);
}

/** Python's `dict.update`: a dict or pairs, then keywords. @throws JinjaError */
export function update(dict: Dict, { positional: [more], named }: CallArguments): void {
  if (more instanceof Undefined) throw more.error();
  if (isDict(more)) for (const [key, value] of more) dict.set(knownKey(dict, key), value);
  else if (more !== undefined) {
    iterate(more).forEach((pair, at) => {
      if (typeof pair === 'number' || pair === null) {
        throw typeError(`cannot convert dictionary update sequence element #${at} to a sequence`);
      }
      const parts = iterate(pair);
      if (parts.length !== 2) {
        throw valueError(
          `dictionary update sequence element #${at} has length ${parts.length}; 2 is required`,
        );
      }
      dict.set(keyIn(dict, parts[0]), parts[1]);
    });
  }
  for (const [key, value] of named) dict.set(key, value);
}

function indexOf(list: readonly unknown[], { positional }: CallArguments, kind: string): number {
  const [value, start] = positional;
  const from = start == null ? 0 : wholeNumber(start);
  const at = list.findIndex((item, place) => place >= from && equal(item, value));
  if (at === -1) {
    throw valueError(
      kind === 'list' ? `${repr(value)} is not in list` : 'tuple.index(x): x not in tuple',
    );
  }
  return at;
}

function popAt(list: unknown[], { positional: [at = -1] }: CallArguments): unknown {
  if (list.length === 0) throw new JinjaError('IndexError', 'pop from empty list');
  const index = wholeNumber(at);
  const place = index < 0 ? index + list.length : index;
  if (place < 0 || place >= list.length) {
    throw new JinjaError('IndexError', 'pop index out of range');
  }
  return list.splice(place, 1)[0];
}

function removeValue(list: unknown[], value: unknown): null {
  const at = list.findIndex((item) => equal(item, value));
  if (at === -1) throw valueError('list.remove(x): x not in list');
  list.splice(at, 1);
  return null;
}

function sortInPlace(list: unknown[], args: CallArguments): null {
  const bound = bind('sort', ['key', 'reverse'], args, { key: null, reverse: false });
  const key = bound.get('key');
  const by =
    key instanceof PyFunction
      ? (item: unknown) => key.call({ positional: [item], named: new Map() })
      : undefined;
  list.splice(0, list.length, ...sorted(list, by, truth(bound.get('reverse'))));
  return null;
}
