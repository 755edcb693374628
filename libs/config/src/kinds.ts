import { isOwn } from '@brine/environment';
import {
  type ConfigMap,
  type ConfigValue,
  isConfigMap,
  isList,
  Misfit,
  Odd,
  type Option,
} from './option.ts';

interface Field<T> {
  readonly default: T;
  readonly doc: string;
  readonly unit?: string;
  readonly env?: string;
  readonly underRoot?: boolean;
}

interface NumberField<T> extends Field<T> {
  readonly min?: number;
  readonly max?: number;
}

const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);
/** `*` alone matches all. */
const VARIABLE = /^(?:\*|[A-Za-z_][A-Za-z0-9_]*\*?)$/;
const YES = new Set(['true', 'yes', 'on', '1']);
const NO = new Set(['false', 'no', 'off', '0', '']);

/**
 * A switch. A value of another type counts as in Python, with a warning: an empty one is off, any
 * other is on (Salt: salt/config/__init__.py `_validate_opts` warns and keeps it).
 */
export function flag(field: Field<boolean>): Option<boolean> {
  const read = (value: ConfigValue): boolean | Odd<boolean> =>
    typeof value === 'boolean' ? value : new Odd(isTrue(value), meaningOf(isTrue(value)));
  return { type: 'flag', ...field, read };
}

/** A switch that gives access to others. As {@link flag}, but a quoted "no" is off. */
export function openingFlag(field: Field<boolean>): Option<boolean> {
  const read = (value: ConfigValue): boolean | Odd<boolean> => {
    if (typeof value === 'boolean') return value;
    const opens = isTrue(value) && wordOf(value) !== false;
    return new Odd(opens, meaningOf(opens));
  };
  return { type: 'flag', ...field, read };
}

/**
 * A switch with one value that only the literal sets, as in Salt: `auto_accept is True`
 * (salt/config/__init__.py `apply_master_config`), `rotate_aes_key is False` (salt/key.py).
 */
export function literalFlag(literal: boolean, field: Field<boolean>): Option<boolean> {
  const read = (value: ConfigValue): boolean | Odd<boolean> =>
    typeof value === 'boolean' ? value : new Odd(!literal, meaningOf(!literal));
  return { type: 'flag', ...field, read };
}

/** A switch of Brine, or of a variable: quoted values and 0 / 1 have their plain meaning. */
export function wordFlag(field: Field<boolean>): Option<boolean> {
  const read = (value: ConfigValue): boolean | Misfit =>
    (typeof value === 'boolean' ? value : wordOf(value)) ?? new Misfit('true or false');
  return { type: 'flag', ...field, read };
}

/** The switch value of a text or number; undefined if it has none. */
export function wordOf(value: ConfigValue): boolean | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined;
  const word = String(value).toLowerCase();
  return YES.has(word) ? true : NO.has(word) ? false : undefined;
}

function meaningOf(counts: boolean): string {
  return `must be true or false; it counts as ${String(counts)}`;
}

/** The truth of a value in Python. */
function isTrue(value: ConfigValue): boolean {
  if (isConfigMap(value)) return Object.keys(value).length > 0;
  if (isList(value) || value instanceof Uint8Array) return value.length > 0;
  return Boolean(value) || Number.isNaN(value);
}

/** A whole number; a quoted one is accepted, as in Salt's check. */
export function integer(field: NumberField<number>): Option<number> {
  return { type: 'integer', ...field, read: numberReader(field, true) };
}

/** A whole number or nothing: without a value it stays `undefined`. */
export function maybeInteger(
  field: Omit<NumberField<number>, 'default'>,
): Option<number | undefined> {
  const read = numberReader({ ...field, default: 0 }, true);
  return { type: 'integer', ...field, default: undefined, read };
}

/** A number, whole or not. */
export function decimal(field: NumberField<number>): Option<number> {
  return { type: 'number', ...field, read: numberReader(field, false) };
}

/** A TCP port. */
export function port(field: Field<number>): Option<number> {
  return integer({ ...field, min: 0, max: 65_535 });
}

/** A text. Numbers become texts, as Salt does with a numeric id. */
export function text(field: Field<string>): Option<string> {
  return { type: 'text', ...field, read: readText };
}

/** A text or nothing: an empty value in the file stays `undefined`. */
export function maybeText(field: Omit<Field<string>, 'default'>): Option<string | undefined> {
  return { type: 'text', ...field, default: undefined, read: readText };
}

/**
 * An address of a web server: `https`, or `http` on loopback. Without one, `undefined`.
 * @param field `end`: how its path ends
 */
export function webAddress({
  end = '',
  ...field
}: Omit<Field<string>, 'default'> & { readonly end?: string }): Option<string | undefined> {
  const expected = `an address https://…${end}, or http://… on loopback`;
  const read = (value: ConfigValue): string | Misfit =>
    isWebAddress(value) && value.endsWith(end) ? value : new Misfit(expected);
  return { type: 'address', ...field, default: undefined, read };
}

/** Origins of web servers, under the same rule; a single one is a list of one. */
export function webOrigins(field: Field<readonly string[]>): Option<readonly string[]> {
  const expected = 'a list of origins https://host, or http://host on loopback';
  const list = texts(field);
  const read = (value: ConfigValue): readonly string[] | Misfit => {
    const origins = list.read(value);
    if (origins instanceof Misfit || origins instanceof Odd) return new Misfit(expected);
    const isFit = origins.every((one) => isWebAddress(one) && new URL(one).origin === one);
    return isFit ? origins : new Misfit(expected);
  };
  return { ...list, read };
}

function isWebAddress(value: ConfigValue): value is string {
  if (typeof value !== 'string' || !URL.canParse(value)) return false;
  const { protocol, hostname, username, password, search, hash } = new URL(value);
  const isSafe = protocol === 'https:' || (protocol === 'http:' && LOOPBACK.has(hostname));
  return isSafe && [username, password, search, hash].every((part) => part === '');
}

/** One text of a closed list. A bare `off` is accepted, which YAML 1.1 reads as false. */
export function oneOf<const V extends string>(values: readonly V[], field: Field<V>): Option<V> {
  const read = (value: ConfigValue): V | Misfit => {
    const word = typeof value === 'boolean' ? !value && 'off' : readText(value);
    const found = values.find((candidate) => candidate === word);
    return found ?? new Misfit(`one of ${values.join(', ')}`);
  };
  return { type: values.map((value) => `\`${value}\``).join(' or '), ...field, read };
}

/** A list of texts; a single text is a list of one, as in many of Salt's options. */
export function texts(field: Field<readonly string[]>): Option<readonly string[]> {
  const read = (value: ConfigValue): readonly string[] | Misfit => {
    const items = isList(value) ? value : [value];
    const out: string[] = [];
    for (const item of items) {
      const word = readText(item);
      if (word instanceof Misfit) return new Misfit('a list of texts');
      out.push(word);
    }
    return out;
  };
  return { type: 'list of texts', ...field, read };
}

/** Names of variables, or prefixes with a `*`; in one text separated by spaces. */
export function variables(field: Field<readonly string[]>): Option<readonly string[]> {
  const expected = "a list of variables like AWS_REGION or AWS_*, and none of Brine's own";
  const read = (value: ConfigValue): readonly string[] | Misfit => {
    const items = typeof value === 'string' ? (value.match(/\S+/g) ?? []) : value;
    if (!isList(items)) return new Misfit(expected);
    const out: string[] = [];
    for (const item of items) {
      if (typeof item !== 'string' || !VARIABLE.test(item) || isOwn(item)) {
        return new Misfit(expected);
      }
      out.push(item);
    }
    return out;
  };
  return { type: 'list of texts', ...field, read };
}

/** A map; a list of one-key maps is merged into one map (Salt: salt/utils/data repack_dictlist). */
export function map(field: Field<ConfigMap>): Option<ConfigMap> {
  const read = (value: ConfigValue): ConfigMap | Misfit => {
    if (isConfigMap(value)) return value;
    if (!isList(value)) return new Misfit('a map');
    const out = Object.create(null) as Record<string, ConfigValue>;
    for (const item of value) {
      if (!isConfigMap(item)) return new Misfit('a map');
      Object.assign(out, item);
    }
    return out;
  };
  return { type: 'map', ...field, read };
}

/** A list of any values; the reader of the option checks its items. */
export function list(field: Field<readonly ConfigValue[]>): Option<readonly ConfigValue[]> {
  const read = (value: ConfigValue): readonly ConfigValue[] | Misfit =>
    isList(value) ? value : new Misfit('a list');
  return { type: 'list', ...field, read };
}

/** Any value at all. */
export function anything(field: Field<ConfigValue>): Option<ConfigValue> {
  return { type: 'any', ...field, read: (value) => value };
}

function readText(value: ConfigValue): string | Misfit {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return String(value);
  return new Misfit('a text');
}

function numberReader<T>(field: NumberField<T>, whole: boolean) {
  const expected = describeNumber(field, whole);
  return (value: ConfigValue): number | Misfit => {
    const quoted = typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value);
    const number = quoted ? Number(value) : value;
    if (typeof number !== 'number' || !Number.isFinite(number)) return new Misfit(expected);
    if (whole && !Number.isInteger(number)) return new Misfit(expected);
    if (number < (field.min ?? -Infinity) || number > (field.max ?? Infinity)) {
      return new Misfit(expected);
    }
    return number;
  };
}

function describeNumber<T>(field: NumberField<T>, whole: boolean): string {
  const noun = whole ? 'a whole number' : 'a number';
  if (field.min !== undefined && field.max !== undefined) {
    return `${noun} from ${field.min} to ${field.max}`;
  }
  if (field.min !== undefined) return `${noun} not below ${field.min}`;
  return noun;
}
