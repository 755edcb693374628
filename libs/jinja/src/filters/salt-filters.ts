import { strip } from '@brine/wire/text';
import { bind, bindFilter, textArgument } from '../arguments.ts';
import type { Filter, FilterHost } from '../environment.ts';
import { JinjaError, typeError, valueError } from '../errors.ts';
import { MAX_DIGITS } from '../limits.ts';
import { attributeOf } from '../python/attributes.ts';
import { equal, ValueIndex } from '../python/equality.ts';
import { calculate, contains, sorted } from '../python/operators.ts';
import { escapePattern, shellQuote } from '../python/quoting.ts';
import { capitalized } from '../python/str-methods.ts';
import { repr, str } from '../python/text.ts';
import {
  type CallArguments,
  floatValue,
  intValue,
  isDict,
  isInt,
  isList,
  iterate,
  keyIn,
  lengthOf,
  numberOf,
  PyFunction,
  PySet,
  truth,
  Tuple,
  typeName,
  Undefined,
} from '../python/values.ts';
import { fits } from './regex-filters.ts';
import { wholeText } from './text-filters.ts';

/** True for values that Python cannot put into a set: lists, dicts and sets. */
function unhashable(value: unknown): boolean {
  return isList(value) || isDict(value) || value instanceof PySet;
}

/** Salt's filters for texts and lists (Salt: salt/utils/{jinja,data,stringutils}.py). */
export const SALT_FILTERS: ReadonlyMap<string, Filter> = new Map<string, Filter>([
  ['avg', (list) => average(list)],
  ['check_whitelist_blacklist', (value, args, host) => allowed(value, args, host)],
  ['compare_dicts', (old, { positional: [fresh] }) => compareDicts(old, fresh)],
  ['compare_lists', (old, { positional: [fresh] }) => compareLists(old, fresh)],
  ['contains_whitespace', (value) => /\s/.test(textArgument('contains_whitespace', value))],
  ['difference', (list, { positional: [other] }) => combine(list, other, 'difference')],
  ['exactly_n_true', (list, { positional: [count] }) => trues(list) === Number(count)],
  ['exactly_one_true', (list) => trues(list) === 1],
  ['flatten', (list, args) => flatten(list, args)],
  ['from_entries', (list) => fromEntries(list)],
  ['human_to_bytes', (value, args) => bytesOf(value, args)],
  ['intersect', (list, { positional: [other] }) => combine(list, other, 'intersect')],
  ['is_hex', (value) => typeof value === 'string' && wholeText(strip(value), 16) !== undefined],
  ['is_iter', (value) => Array.isArray(value) || isDict(value) || value instanceof PySet],
  ['is_list', (value) => isList(value)],
  ['method_call', (value, args) => methodCall(value, args)],
  ['mysql_to_dict', (lines, args) => rowsOf(lines, args)],
  ['quote', (value) => shellQuote(textArgument('quote', value))],
  ['regex_escape', (value) => escapePattern(textArgument('regex_escape', value))],
  ['sequence', (value) => (unhashable(value) || value instanceof Tuple ? value : [value])],
  ['skip', () => ''],
  [
    'sorted_ignorecase',
    (list) => sorted(iterate(list), (item) => textArgument('lower', item).toLowerCase()),
  ],
  [
    'substring_in_list',
    (value, { positional: [list] }) => iterate(list).some((item) => contains(item, value)),
  ],
  ['symmetric_difference', (list, { positional: [other] }) => symmetric(list, other)],
  ['to_bool', (value) => toBool(value)],
  ['to_bytes', (value) => new Uint8Array(Buffer.from(textArgument('to_bytes', value)))],
  ['to_camelcase', (value, args) => camelCase(textArgument('to_camelcase', value), args)],
  ['to_entries', (value) => toEntries(value)],
  ['str_to_num', (value) => toNumber(value)],
  ['to_num', (value) => toNumber(value)],
  ['to_snake_case', (value) => snakeCase(textArgument('to_snake_case', value))],
  ['union', (list, { positional: [other] }) => combine(list, other, 'union')],
  ['unique', (list) => unique(list)],
]);

function average(value: unknown): unknown {
  const list = isList(value) ? value : numberOf(value) === undefined ? iterate(value) : [value];
  return calculate('/', sum(list), lengthOf(list));
}

function sum(list: unknown): unknown {
  return iterate(list).reduce((total, item) => calculate('+', total, item), 0);
}

function trues(list: unknown): number {
  return iterate(list).filter(truth).length;
}

function toBool(value: unknown): boolean {
  if (value instanceof Undefined) return false;
  if (typeof value === 'boolean') return value;
  if (typeof value === 'string') return ['yes', '1', 'true'].includes(value.toLowerCase());
  if (isInt(value)) return value > 0;
  return unhashable(value) ? lengthOf(value) > 0 : false;
}

function distinct(list: readonly unknown[]): unknown[] {
  const seen = new ValueIndex();
  return list.filter((item) => seen.add(item));
}

function unique(value: unknown): unknown {
  const list = distinct(iterate(value));
  return unhashable(value) ? list : new PySet(list);
}

function combine(a: unknown, b: unknown, how: 'union' | 'intersect' | 'difference'): unknown {
  const [left, right] = [iterate(a), iterate(b)];
  const sets = !unhashable(a) && !unhashable(b);
  const both = !sets && how === 'union' ? (calculate('+', a, b) as unknown[]) : [...left, ...right];
  const others = new ValueIndex(how === 'union' ? [] : right);
  const picked =
    how === 'union' ? both : left.filter((item) => others.has(item) === (how === 'intersect'));
  return sets ? new PySet(distinct(picked)) : distinct(picked);
}

function symmetric(a: unknown, b: unknown): unknown {
  const [left, right] = [iterate(a), iterate(b)];
  const [before, after] = [new ValueIndex(left), new ValueIndex(right)];
  const picked = distinct([...left, ...right]).filter((x) => !before.has(x) || !after.has(x));
  return unhashable(a) || unhashable(b) ? picked : new PySet(picked);
}

function compareDicts(old: unknown, fresh: unknown): unknown {
  if (!isDict(old) || !isDict(fresh)) throw typeError('compare_dicts: two dicts are needed');
  const changes = new Map<unknown, unknown>();
  for (const key of new Set([...fresh.keys(), ...old.keys()])) {
    const [before, after] = [old.get(key), fresh.get(key)];
    if (!old.has(key))
      changes.set(
        key,
        new Map([
          ['old', ''],
          ['new', after],
        ] as const),
      );
    else if (!fresh.has(key))
      changes.set(
        key,
        new Map([
          ['new', ''],
          ['old', before],
        ] as const),
      );
    else if (!equal(before, after))
      changes.set(
        key,
        new Map([
          ['old', before],
          ['new', after],
        ]),
      );
  }
  return changes;
}

function compareLists(old: unknown, fresh: unknown): unknown {
  const [before, after] = [iterate(old), iterate(fresh)];
  const changes = new Map<string, unknown[]>();
  const [known, kept] = [new ValueIndex(before), new ValueIndex(after)];
  const added = after.filter((item) => !known.has(item));
  const removed = before.filter((item) => !kept.has(item));
  if (added.length > 0) changes.set('new', added);
  if (removed.length > 0) changes.set('old', removed);
  return changes;
}

function flatten(value: unknown, args: CallArguments): unknown[] {
  const bound = bind('flatten', ['levels', 'preserve_nulls'], args, {
    levels: null,
    preserve_nulls: false,
  });
  const nulls = truth(bound.get('preserve_nulls'));
  const levels = bound.get('levels') === null ? 100 : Number(bound.get('levels'));
  const walk = (list: readonly unknown[], left: number): unknown[] =>
    list.flatMap((item) => {
      if (!nulls && (item === null || item === 'None' || item === 'null')) return [];
      return (isList(item) || item instanceof Tuple) && left > 0 ? walk(item, left - 1) : [item];
    });
  return walk(iterate(value), levels);
}

function toEntries(value: unknown): unknown[] {
  const entry = ([key, item]: [unknown, unknown]): unknown =>
    new Map([
      ['key', key],
      ['value', item],
    ]);
  if (isDict(value)) return [...value].map(entry);
  if (isList(value)) return value.map((item, at) => entry([at, item]));
  throw valueError('Input data must be a dict or list');
}

function fromEntries(list: unknown): unknown {
  const dict = new Map<unknown, unknown>();
  for (const item of iterate(list)) {
    if (!isDict(item)) continue;
    const low = new Map([...item].map(([key, value]) => [String(key).toLowerCase(), value]));
    const key = [low.get('key'), low.get('name')].find((name) => name != null && truth(name));
    if (key !== undefined) dict.set(keyIn(dict, key), low.get('value') ?? null);
  }
  return dict;
}

function toNumber(value: unknown): unknown {
  if (typeof value === 'boolean') return Number(value);
  if (typeof value !== 'string') return typeof value === 'number' ? Math.trunc(value) : value;
  const text = strip(value);
  if (text.length <= MAX_DIGITS && /^[-+]?\d+(?:_\d+)*$/.test(text))
    return intValue(BigInt(text.replace(/^\+|_/g, '')));
  if (/^[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?$/.test(text)) return floatValue(Number(text));
  return value;
}

const UNITS = 'bkmgtpezy';

function bytesOf(value: unknown, args: CallArguments): unknown {
  const bound = bind('human_to_bytes', ['default_unit', 'handle_metric'], args, {
    default_unit: 'B',
    handle_metric: false,
  });
  const [, digits = '', unitText = ''] = /^([0-9.]*)\s*(.*)/.exec(strip(str(value))) ?? [];
  const number = Number(digits);
  if (digits === '' || Number.isNaN(number)) return 0;
  const unit = (unitText === '' ? str(bound.get('default_unit')) : unitText).toLowerCase();
  const metric = /^[kmgtpezy]b$/.test(unit);
  if (!metric && !/^(?:b|[kmgtpezy](?:ib)?)$/.test(unit)) return 0;
  const power = UNITS.indexOf(unit.charAt(0));
  const decimal = metric && truth(bound.get('handle_metric'));
  const factor = decimal ? 1000 ** power : 1024 ** power;
  return intValue(BigInt(Math.trunc(number * factor)));
}

function camelCase(text: string, args: CallArguments): string {
  const first = args.positional[0] ?? args.named.get('uppercamel') ?? false;
  const [head = '', ...words] = text.split('_');
  return (truth(first) ? capitalized(head) : head) + words.map(capitalized).join('');
}

/** The last of several capitals begins a word if a small letter follows (Salt: stringutils). */
function snakeCase(text: string): string {
  if (text === '') throw new JinjaError('IndexError', 'string index out of range');
  const isUpper = /\p{Lu}/u;
  const isLower = /\p{Ll}/u;
  const letters = [...text];
  const shown = letters.map((letter, at) => {
    const begins =
      at > 0 &&
      isUpper.test(letter) &&
      (isLower.test(letters[at - 1] ?? '') || isLower.test(letters[at + 1] ?? ''));
    return (begins ? '_' : '') + letter.toLowerCase();
  });
  return shown.join('');
}

function allowed(value: unknown, args: CallArguments, host: FilterHost): boolean {
  const bound = bind('check_whitelist_blacklist', ['whitelist', 'blacklist'], args, {
    whitelist: null,
    blacklist: null,
  });
  const listed = (name: string): string[] => {
    const list = bound.get(name);
    if (list == null || !truth(list)) return [];
    return typeof list === 'string' ? [list] : iterate(list).map(str);
  };
  const [white, black] = [listed('whitelist'), listed('blacklist')];
  const oneFits = (list: readonly string[]): boolean =>
    list.some((expression) => fits(str(value), expression, host));
  if (oneFits(black)) return false;
  return white.length === 0 || oneFits(white);
}

/** Parses a table that MySQL prints into a dict of rows by the values of one column. */
function rowsOf(lines: unknown, args: CallArguments): unknown {
  const key = bindFilter('mysql_to_dict', 'data', lines, ['key'], args).get('key');
  const rows = new Map<unknown, unknown>();
  let names: readonly string[] = [];
  for (const line of iterate(lines)) {
    if (!truth(line)) continue;
    if (typeof line !== 'string') {
      const text = `'${typeName(line)}' object has no attribute 'startswith'`;
      throw new JinjaError('AttributeError', text);
    }
    if (line.startsWith('+')) continue;
    const cells = line.split('|').map((cell) => strip(cell));
    if (names.length > 1) {
      const row = rowOf(names.slice(1, -1), cells.slice(1));
      if (!row.has(keyIn(row, key))) throw new JinjaError('KeyError', repr(key));
      rows.set(keyIn(rows, row.get(keyIn(row, key))), row);
    } else names = cells;
  }
  return rows;
}

function rowOf(names: readonly string[], cells: readonly string[]): Map<unknown, unknown> {
  if (cells.length < names.length) throw new JinjaError('IndexError', 'list index out of range');
  return new Map(names.map((name, at) => [name, toNumber(cells[at])]));
}

function methodCall(
  value: unknown,
  { positional: [name, ...rest], named }: CallArguments,
): unknown {
  const method = attributeOf(value, str(name));
  return method instanceof PyFunction ? method.call({ positional: rest, named }) : null;
}
