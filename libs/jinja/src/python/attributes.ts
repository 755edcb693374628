import { wholeNumber } from '../arguments.ts';
import { JinjaError, typeError, valueError } from '../errors.ts';
import { DICT_METHODS, LIST_METHODS, TUPLE_METHODS } from './container-methods.ts';
import { checkCount } from './method-arity.ts';
import { formatText } from './str-format.ts';
import { STR_METHODS } from './str-methods.ts';
import { repr } from './text.ts';
import {
  type CallArguments,
  isDict,
  isFloat,
  isInt,
  keyIn,
  NamedTuple,
  PyFunction,
  PyObject,
  PySet,
  Tuple,
  tupleOf,
  typeName,
  Undefined,
} from './values.ts';

/** `value.name` as Jinja reads it: an attribute first, then an item. @throws JinjaError */
export function attributeOf(value: unknown, name: string): unknown {
  if (value instanceof Undefined) throw value.error();
  if (name.startsWith('__')) throw unsafe(value, name);
  const attribute = method(value, name);
  if (attribute !== undefined) return attribute;
  const item = plainItem(value, name);
  return item === undefined ? missing(value, name) : item;
}

/** The result of the filter `attr`: an attribute, never an item. @throws JinjaError */
export function onlyAttributeOf(value: unknown, name: string): unknown {
  if (value instanceof Undefined) throw value.error();
  if (name.startsWith('__')) throw unsafe(value, name);
  return method(value, name) ?? missing(value, name);
}

/** `value[key]` as Jinja reads it: an item first, then an attribute. @throws JinjaError */
export function itemOf(value: unknown, key: unknown): unknown {
  if (value instanceof Undefined) throw value.error();
  if (key instanceof Undefined) throw key.error();
  const item = plainItem(value, key);
  if (item !== undefined) return item;
  if (typeof key === 'string') {
    if (key.startsWith('__')) throw unsafe(value, key);
    const attribute = method(value, key);
    if (attribute !== undefined) return attribute;
  }
  return missing(value, key);
}

function unsafe(value: unknown, name: string): JinjaError {
  const text = `access to attribute '${name}' of '${typeName(value)}' object is unsafe.`;
  return new JinjaError('Security', text);
}

function plainItem(value: unknown, asked: unknown): unknown {
  const key = typeof asked === 'boolean' && !isDict(value) ? Number(asked) : asked;
  if (isDict(value)) {
    if (Array.isArray(key) || isDict(key)) return undefined;
    return value.get(keyIn(value, key));
  }
  if (!isInt(key)) return undefined;
  const index = Number(key);
  if (Array.isArray(value) || value instanceof Uint8Array) return value.at(index) as unknown;
  return typeof value === 'string' ? characterAt(value, index) : undefined;
}

function characterAt(text: string, index: number): string | undefined {
  // An end of the text that is long enough: a character is two units at most.
  const near = index < 0 ? text.slice(2 * index) : text.slice(0, 2 * index + 2);
  return [...near].at(index);
}

function missing(value: unknown, key: unknown): Undefined {
  const kind = typeName(value);
  const owner = value === null ? 'None' : `${FULL_NAMES[kind] ?? kind} object`;
  if (typeof key === 'string') {
    return new Undefined(`${repr(owner)} has no attribute ${repr(key)}`);
  }
  return new Undefined(`${owner} has no element ${repr(key)}`);
}

const FULL_NAMES: Readonly<Record<string, string>> = {
  Cycler: 'jinja2.utils.Cycler',
  Joiner: 'jinja2.utils.Joiner',
  LoopContext: 'jinja2.runtime.LoopContext',
  Macro: 'jinja2.runtime.Macro',
  Namespace: 'jinja2.utils.Namespace',
  TemplateModule: 'jinja2.environment.TemplateModule',
};

function method(value: unknown, name: string): unknown {
  if (value instanceof PyObject) return value.attributes.get(name);
  if (value instanceof NamedTuple) {
    const place = value.names.indexOf(name);
    if (place !== -1) return value[place];
  }
  const table = methodsOf(value);
  const found = table?.get(name);
  if (found === undefined) return undefined;
  const shown = `<built-in method ${name} of ${typeName(value)} object>`;
  const kind = typeName(value);
  return new PyFunction(
    name,
    (args) => {
      checkCount(kind, name, args.positional.length + args.named.size);
      return found(value as never, args);
    },
    shown,
  );
}

type Methods = ReadonlyMap<string, (value: never, args: CallArguments) => unknown>;

const REACH = { attribute: attributeOf, item: itemOf };
const TEXT_METHODS: Methods = new Map([
  ...STR_METHODS,
  ['format', (text: string, args: CallArguments) => formatText(text, args, REACH)] as const,
  [
    'format_map',
    (text: string, { positional: [map] }: CallArguments) => {
      const named = new Map(isDict(map) ? [...map].map(([key, item]) => [String(key), item]) : []);
      return formatText(text, { positional: [], named }, REACH);
    },
  ] as const,
]);
const INT_METHODS: Methods = new Map([
  ['bit_length', (value: number | bigint) => BigInt(value).toString(2).replace('-', '').length],
]);
const FLOAT_METHODS: Methods = new Map([
  [
    'is_integer',
    (value: number | { value: number }) =>
      Number.isInteger(typeof value === 'number' ? value : value.value),
  ],
]);
const BYTES_METHODS: Methods = new Map([
  ['decode', (value: Uint8Array) => Buffer.from(value).toString('utf8')],
  ['hex', (value: Uint8Array) => Buffer.from(value).toString('hex')],
]);
const SET_METHODS: Methods = new Map([
  [
    'add',
    (set: PySet, { positional: [item] }: CallArguments) => {
      if (!set.items.includes(item)) set.items.push(item);
      return null;
    },
  ],
]);

function methodsOf(value: unknown): Methods | undefined {
  if (typeof value === 'string') return TEXT_METHODS;
  if (isDict(value)) return DICT_METHODS;
  if (value instanceof Tuple) return TUPLE_METHODS;
  if (Array.isArray(value)) return LIST_METHODS;
  if (value instanceof PySet) return SET_METHODS;
  if (value instanceof Uint8Array) return BYTES_METHODS;
  if (isInt(value)) return INT_METHODS;
  return isFloat(value) ? FLOAT_METHODS : undefined;
}

/** `value[start:stop:step]`. @throws JinjaError */
export function sliceOf(value: unknown, parts: readonly unknown[]): unknown {
  if (value instanceof Undefined) throw value.error();
  const whole = typeof value === 'string' ? [...value] : value;
  if (!Array.isArray(whole)) {
    if (isDict(whole)) throw typeError("unhashable type: 'slice'");
    return new Undefined(`${typeName(value)} object has no element slice`);
  }
  const [start, stop, step] = parts.map((part) => (part == null ? undefined : wholeNumber(part)));
  const stride = step ?? 1;
  if (stride === 0) throw valueError('slice step cannot be zero');
  const { length } = whole;
  const forward = stride > 0;
  const place = (at: number | undefined, otherwise: number): number => {
    if (at === undefined) return otherwise;
    const from = at < 0 ? at + length : at;
    return forward ? Math.min(Math.max(from, 0), length) : Math.min(Math.max(from, -1), length - 1);
  };
  const first = place(start, forward ? 0 : length - 1);
  const last = place(stop, forward ? length : -1);
  const picked: unknown[] = [];
  for (let at = first; forward ? at < last : at > last; at += stride) picked.push(whole[at]);
  if (typeof value === 'string') return picked.join('');
  return value instanceof Tuple ? tupleOf(picked) : picked;
}
