import { createHash, createHmac } from 'node:crypto';
import { bind, textArgument } from '../arguments.ts';
import type { Filter } from '../environment.ts';
import { JinjaError, typeError, valueError } from '../errors.ts';
import { update } from '../python/container-methods.ts';
import { str } from '../python/text.ts';
import {
  type CallArguments,
  type Dict,
  isDict,
  isList,
  keyIn,
  typeName,
  Undefined,
} from '../python/values.ts';
import { iterate } from '../python/values.ts';

// The namespace of Salt's uuid filter (Salt: salt/utils/jinja.py GLOBAL_UUID).
const NAMESPACE = Buffer.from('91633EBF1C865E33935A28061F4B480E', 'hex');

function hash(algorithm: string): Filter {
  return (value) => createHash(algorithm).update(textOf(value)).digest('hex');
}

/** Salt's filters for sums, encodings and nested dicts. */
export const HASH_FILTERS: ReadonlyMap<string, Filter> = new Map<string, Filter>([
  ['base64_decode', (value) => decoded(textOf(value))],
  ['base64_encode', (value) => Buffer.from(textOf(value), 'utf8').toString('base64')],
  ['hmac', (value, args) => validHmac(value, args)],
  [
    'hmac_compute',
    (value, { positional: [secret] }) =>
      createHmac('sha256', textArgument('hmac_compute', secret)).update(str(value)).digest('hex'),
  ],
  ['md5', hash('md5')],
  ['sha1', hash('sha1')],
  ['sha256', hash('sha256')],
  ['sha512', hash('sha512')],
  ['uuid', (value) => uuid5(textOf(value))],
  [
    'set_dict_key_value',
    (value, args) => nested(value, args, (dict, key, item) => dict.set(key, item)),
  ],
  ['update_dict_key_value', (value, args) => nested(value, args, updateKey)],
  [
    'append_dict_key_value',
    (value, args) =>
      nested(value, args, (dict, key, item) => listAt(dict, key, 'append').push(item)),
  ],
  ['extend_dict_key_value', (value, args) => nested(value, args, extendKey)],
  ['traverse', (value, args) => traverse(value, args)],
]);

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value instanceof Undefined) throw value.error();
  throw typeError(`expected str, bytes, or bytearray not <class '${typeName(value)}'>`);
}

/** Python skips characters outside the alphabet, and needs complete groups of the others. */
function decoded(text: string): string {
  const [data = ''] = text.replaceAll(/[^A-Za-z0-9+/=]/g, '').split('=');
  const rest = data.length % 4;
  if (rest === 1) {
    throw valueError(
      `Invalid base64-encoded string: number of data characters (${data.length}) cannot be 1 ` +
        'more than a multiple of 4',
    );
  }
  const padding = /=*$/.exec(text.trimEnd())?.[0].length ?? 0;
  if (rest > 0 && rest + padding < 4) throw valueError('Incorrect padding');
  return Buffer.from(data, 'base64').toString('utf8');
}

function uuid5(name: string): string {
  const sum = createHash('sha1').update(NAMESPACE).update(name).digest().subarray(0, 16);
  sum.writeUInt8((sum.readUInt8(6) & 0x0f) | 0x50, 6);
  sum.writeUInt8((sum.readUInt8(8) & 0x3f) | 0x80, 8);
  return sum.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

function validHmac(value: unknown, { positional: [secret, challenge] }: CallArguments): boolean {
  const sum = createHmac('sha256', textArgument('hmac', secret))
    .update(str(value))
    .digest('base64');
  return sum === str(challenge);
}

function nested(
  value: unknown,
  args: CallArguments,
  put: (dict: Dict, key: unknown, item: unknown) => unknown,
): unknown {
  const bound = bind('dict_key_value', ['keys', 'value', 'delimiter', 'ordered_dict'], args, {
    delimiter: ':',
    ordered_dict: false,
  });
  if (!isDict(value)) throw typeError(`expected a dict, got '${typeName(value)}'`);
  const keys = str(bound.get('keys')).split(str(bound.get('delimiter')));
  const last = keys.pop();
  let dict: Dict = value;
  for (const key of keys) {
    const inner = dict.get(key);
    const next: Dict = isDict(inner) ? inner : new Map();
    if (next !== inner) dict.set(key, next);
    dict = next;
  }
  put(dict, last, bound.get('value'));
  return value;
}

function updateKey(dict: Dict, key: unknown, item: unknown): void {
  if (dict.get(key) == null) dict.set(key, new Map());
  const inner = dict.get(key);
  if (!isDict(inner)) {
    const type = `<class '${typeName(inner)}'>`;
    throw new JinjaError('SaltFunction', `The last key contains a ${type}, which cannot update.`);
  }
  if (!isDict(item) && !isList(item)) {
    const type = `<class '${typeName(item)}'>`;
    throw new JinjaError('SaltFunction', `Cannot update <class 'dict'> with a ${type}.`);
  }
  update(inner, { positional: [item], named: new Map() });
}

function listAt(dict: Dict, key: unknown, what: string): unknown[] {
  if (dict.get(key) == null) dict.set(key, []);
  const inner = dict.get(key);
  if (isList(inner)) return inner;
  const type = `<class '${typeName(inner)}'>`;
  throw new JinjaError('SaltFunction', `The last key contains a ${type}, which cannot ${what}.`);
}

function extendKey(dict: Dict, key: unknown, item: unknown): void {
  const list = listAt(dict, key, 'extend');
  if (!Array.isArray(item) && !isDict(item) && typeof item !== 'string') {
    const type = `<class '${typeName(item)}'>`;
    throw new JinjaError('SaltFunction', `Cannot extend <class 'list'> with a ${type}.`);
  }
  list.push(...iterate(item));
}

function traverse(value: unknown, args: CallArguments): unknown {
  const bound = bind('traverse', ['key', 'default', 'delimiter'], args, {
    default: null,
    delimiter: ':',
  });
  if (value instanceof Undefined) throw value.error();
  return traverseData(value, bound.get('key'), bound.get('default'), str(bound.get('delimiter')));
}

/** The value at a path such as `a:b:0` (Salt: salt/utils/data.py traverse_dict_and_list). */
export function traverseData(
  data: unknown,
  key: unknown,
  otherwise: unknown,
  delimiter: string,
): unknown {
  const parts =
    typeof key === 'string'
      ? key.split(delimiter)
      : Array.isArray(key)
        ? (key as unknown[])
        : [key];
  let value: unknown = data;
  for (const part of parts) {
    if (isList(value)) {
      const index = /^-?\d+$/.test(str(part)) ? Number(str(part)) : undefined;
      const name = index ?? part;
      const inner = value.find((item): item is Dict => isDict(item) && item.has(keyIn(item, name)));
      const found =
        inner === undefined
          ? index === undefined
            ? undefined
            : value.at(index)
          : inner.get(keyIn(inner, name));
      if (found === undefined) return otherwise;
      value = found;
    } else if (isDict(value)) {
      let found = value.get(keyIn(value, part));
      // A number in the path may be a key that is a number (Salt: _lookup of the late entry).
      if (found === undefined && typeof part === 'string' && /^\d+$/.test(part))
        found = value.get(keyIn(value, Number(part)));
      if (found === undefined) return otherwise;
      value = found;
    } else return otherwise;
  }
  return value;
}
