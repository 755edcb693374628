import { bind, wholeNumber } from '../arguments.ts';
import type { Filter, FilterHost } from '../environment.ts';
import { JinjaError, typeError } from '../errors.ts';
import { bounded, joinBounded } from '../limits.ts';
import { itemOf, onlyAttributeOf } from '../python/attributes.ts';
import { equal, ValueIndex } from '../python/equality.ts';
import {
  checkRows,
  combinations,
  combinationsWithReplacement,
  permutations,
  product,
} from '../python/itertools.ts';
import { calculate, orderOf, sorted } from '../python/operators.ts';
import { repr, str } from '../python/text.ts';
import {
  type CallArguments,
  isDict,
  isInt,
  isList,
  iterate,
  lengthOf,
  NamedTuple,
  numberOf,
  truth,
  tupleOf,
  typeName,
  Undefined,
} from '../python/values.ts';
import { pairsOf } from './data-filters.ts';

/** Jinja's own filters for lists and dicts, and Python's itertools that Salt adds. */
export const LIST_FILTERS: ReadonlyMap<string, Filter> = new Map<string, Filter>([
  ['attr', (value, { positional: [name] }) => onlyAttributeOf(value, str(name))],
  ['batch', (value, args) => batch(iterate(value), args)],
  ['combinations', (value, { positional: [size] }) => combinations(iterate(value), size)],
  [
    'combinations_with_replacement',
    (value, { positional }) => {
      if (positional.length === 0) throw missing('combinations_with_replacement', 'r');
      return combinationsWithReplacement(iterate(value), positional[0]);
    },
  ],
  [
    'compress',
    (value, { positional }) => {
      if (positional.length === 0) throw missing('compress', 'selectors');
      const selectors = iterate(positional[0]);
      return iterate(value).filter((_, at) => at < selectors.length && truth(selectors[at]));
    },
  ],
  ['count', (value) => lengthOf(value)],
  ['dictsort', (value, args) => dictSort(value, args)],
  ['first', (value) => oneOf(iterate(value), 0, 'first')],
  ['groupby', (value, args) => groupBy(iterate(value), args)],
  ['items', (value) => (value instanceof Undefined ? [] : entries(value))],
  ['join', (value, args) => join(value, args)],
  ['last', (value) => oneOf(iterate(value), -1, 'last')],
  ['length', (value) => lengthOf(value)],
  ['list', (value) => [...iterate(value)]],
  ['map', (value, args, host) => map(iterate(value), args, host)],
  ['max', (value, args) => extreme(iterate(value), args, 1)],
  ['min', (value, args) => extreme(iterate(value), args, -1)],
  ['permutations', (value, { positional: [size] }) => permutations(iterate(value), size)],
  ['pprint', (value, _args, host) => host.filter('python', value, NOTHING)],
  ['product', (value, { positional }) => product([value, ...positional].map(iterate))],
  ['reject', (value, args, host) => select(iterate(value), args, host, false, false)],
  ['rejectattr', (value, args, host) => select(iterate(value), args, host, false, true)],
  ['reverse', (value) => reverse(value)],
  ['select', (value, args, host) => select(iterate(value), args, host, true, false)],
  ['selectattr', (value, args, host) => select(iterate(value), args, host, true, true)],
  ['slice', (value, args) => slices(iterate(value), args)],
  ['sort', (value, args) => sort(iterate(value), args)],
  ['sum', (value, args) => sum(iterate(value), args)],
  ['zip', (value, { positional }) => zip([value, ...positional].map(iterate), false, null)],
  [
    'zip_longest',
    (value, { positional, named }) =>
      zip([value, ...positional].map(iterate), true, named.get('fillvalue') ?? null),
  ],
]);

/** The error that Python's C functions raise for a missing argument. */
function missing(fun: string, name: string): JinjaError {
  return typeError(`${fun}() missing required argument '${name}' (pos 2)`);
}

const NOTHING: CallArguments = { positional: [], named: new Map() };

function oneOf(list: readonly unknown[], at: number, what: string): unknown {
  if (list.length > 0) return list.at(at);
  return new Undefined(`No ${what} item, sequence was empty.`);
}

function entries(value: unknown): unknown[] {
  if (!isDict(value)) throw typeError('Can only get item pairs from a mapping.');
  return pairsOf(value);
}

/** Follows an `attribute` argument: `a.b.0`, or an index. */
function reach(attribute: unknown, otherwise?: unknown): (item: unknown) => unknown {
  if (attribute == null) return (item) => item;
  const parts = isInt(attribute)
    ? [attribute]
    : str(attribute)
        .split('.')
        .map((part) => (/^\d+$/.test(part) ? Number(part) : part));
  return (item) => {
    let value = item;
    for (const part of parts) {
      value = itemOf(value, part);
      if (value instanceof Undefined && otherwise != null) value = otherwise;
    }
    return value;
  };
}

/** Compares texts without regard to case by default. */
function folded(sensitive: unknown): (value: unknown) => unknown {
  return (value) => (typeof value === 'string' && !truth(sensitive) ? value.toLowerCase() : value);
}

function batch(list: readonly unknown[], args: CallArguments): unknown[] {
  const bound = bind('batch', ['linecount', 'fill_with'], args, { fill_with: null });
  const size = wholeNumber(bound.get('linecount'));
  const fill = bound.get('fill_with');
  const rows: unknown[][] = [];
  for (let at = 0; at < list.length; at += Math.max(size, 1)) {
    rows.push(list.slice(at, at + Math.max(size, 1)));
  }
  const last = rows.at(-1);
  if (last !== undefined && fill !== null) {
    bounded(size, () => last.push(...Array.from({ length: size - last.length }, () => fill)));
  }
  return rows;
}

function slices(list: readonly unknown[], args: CallArguments): unknown[] {
  const bound = bind('slice', ['slices', 'fill_with'], args, { fill_with: null });
  const count = wholeNumber(bound.get('slices'));
  if (count === 0) {
    throw new JinjaError('ZeroDivisionError', 'integer division or modulo by zero');
  }
  const each = Math.floor(list.length / count);
  const longer = list.length % count;
  const rows: unknown[] = [];
  let at = 0;
  for (let row = 0; row < Math.min(count, 10_000); row += 1) {
    const size = each + (row < longer ? 1 : 0);
    const part = list.slice(at, at + size);
    at += size;
    if (bound.get('fill_with') !== null && row >= longer) part.push(bound.get('fill_with'));
    rows.push(part);
  }
  return rows;
}

function dictSort(value: unknown, args: CallArguments): unknown[] {
  const bound = bind('dictsort', ['case_sensitive', 'by', 'reverse'], args, {
    case_sensitive: false,
    by: 'key',
    reverse: false,
  });
  const by = bound.get('by');
  if (by !== 'key' && by !== 'value') {
    throw new JinjaError('Runtime', 'You can only sort by either "key" or "value"');
  }
  if (value instanceof Undefined) throw value.error();
  if (!isDict(value)) throw typeError(`'${typeName(value)}' object has no attribute 'items'`);
  const fold = folded(bound.get('case_sensitive'));
  const place = by === 'key' ? 0 : 1;
  const key = (pair: unknown): unknown => fold((pair as unknown[])[place]);
  return sorted(pairsOf(value), key, truth(bound.get('reverse')));
}

function groupBy(list: readonly unknown[], args: CallArguments): unknown[] {
  const bound = bind('groupby', ['attribute', 'default', 'case_sensitive'], args, {
    default: null,
    case_sensitive: false,
  });
  const get = reach(bound.get('attribute'), bound.get('default'));
  const fold = folded(bound.get('case_sensitive'));
  const groups: { key: unknown; real: unknown; items: unknown[] }[] = [];
  for (const item of sorted(list, (entry) => fold(get(entry)))) {
    const key = fold(get(item));
    const last = groups.at(-1);
    if (last !== undefined && equal(last.key, key)) last.items.push(item);
    else groups.push({ key, real: get(item), items: [item] });
  }
  return groups.map(({ real, items }) => groupOf(real, items));
}

function groupOf(grouper: unknown, list: readonly unknown[]): NamedTuple {
  const group = new NamedTuple();
  group.push(grouper, list);
  group.names = ['grouper', 'list'];
  return group;
}

function join(value: unknown, args: CallArguments): string {
  const bound = bind('join', ['d', 'attribute'], args, { d: '', attribute: null });
  const get = reach(bound.get('attribute'));
  const parts = iterate(value).map((item) => str(get(item)));
  return joinBounded(parts, str(bound.get('d')));
}

function map(list: readonly unknown[], args: CallArguments, host: FilterHost): unknown[] {
  const { positional, named } = args;
  const [name, ...rest] = positional;
  if (name === undefined && named.has('attribute')) {
    const other = [...named.keys()].find((key) => key !== 'attribute' && key !== 'default');
    if (other !== undefined) {
      throw new JinjaError('Runtime', `Unexpected keyword argument ${repr(other)}`);
    }
    return list.map(reach(named.get('attribute'), named.get('default')));
  }
  if (name === undefined) throw new JinjaError('Runtime', 'map requires a filter argument');
  if (typeof name !== 'string') throw new JinjaError('Syntax', `No filter named ${repr(name)}.`);
  return list.map((item) => host.filter(name, item, { positional: rest, named }));
}

function select(
  list: readonly unknown[],
  { positional, named }: CallArguments,
  host: FilterHost,
  wanted: boolean,
  byAttribute: boolean,
): unknown[] {
  const [first, ...others] = positional;
  const [name, ...rest] = byAttribute ? others : positional;
  if (byAttribute && first === undefined) {
    throw new JinjaError('Runtime', 'Missing parameter for attribute name');
  }
  const get = byAttribute ? reach(first) : (item: unknown): unknown => item;
  const [among] = rest;
  const known = name === 'in' && Array.isArray(among) ? new ValueIndex(among) : undefined;
  const contains = (item: unknown): boolean =>
    known !== undefined
      ? known.has(get(item))
      : typeof name === 'string'
        ? host.test(name, get(item), { positional: rest, named })
        : truth(get(item));
  return list.filter((item) => contains(item) === wanted);
}

function extreme(list: readonly unknown[], args: CallArguments, sign: 1 | -1): unknown {
  if (args.positional.length > 0 || args.named.size > 0) {
    throw typeError(`${sign > 0 ? 'lst_max' : 'lst_min'}() got an unexpected argument`);
  }
  // Salt replaces Jinja's min and max with Python's (Salt: salt/utils/jinja.py).
  if (list.length === 0) {
    const name = sign > 0 ? 'max' : 'min';
    throw new JinjaError('ValueError', `${name}() arg is an empty sequence`);
  }
  return list.reduce((best, item) =>
    orderOf(item, best, sign > 0 ? '>' : '<') * sign > 0 ? item : best,
  );
}

function reverse(value: unknown): unknown {
  if (typeof value === 'string') return [...value].reverse().join('');
  if (value === null || numberOf(value) !== undefined) {
    throw new JinjaError('Runtime', 'argument must be iterable');
  }
  return [...iterate(value)].reverse();
}

function sort(list: readonly unknown[], args: CallArguments): unknown[] {
  const bound = bind('sort', ['reverse', 'case_sensitive', 'attribute'], args, {
    reverse: false,
    case_sensitive: false,
    attribute: null,
  });
  const attribute = bound.get('attribute');
  const names = typeof attribute === 'string' ? attribute.split(',') : [attribute];
  const gets = names.map((name) => reach(name));
  const fold = folded(bound.get('case_sensitive'));
  const [only, more] = gets;
  const key =
    only !== undefined && more === undefined
      ? (item: unknown): unknown => fold(only(item))
      : (item: unknown): unknown => tupleOf(gets.map((get) => fold(get(item))));
  return sorted(list, key, truth(bound.get('reverse')));
}

function sum(list: readonly unknown[], args: CallArguments): unknown {
  const bound = bind('sum', ['attribute', 'start'], args, { attribute: null, start: 0 });
  const get = reach(bound.get('attribute'));
  const start = bound.get('start');
  const items = list.map(get);
  // Adding list after list would copy the first ones each time.
  if (isList(start) && items.every(isList)) return [...start, ...items.flat()];
  return items.reduce((total, item) => calculate('+', total, item), start);
}

function zip(lists: readonly unknown[][], longest: boolean, fill: unknown): unknown[] {
  const sizes = lists.map(({ length }) => length);
  const size = longest ? Math.max(0, ...sizes) : Math.min(...sizes);
  checkRows(size, lists.length);
  return Array.from({ length: size }, (_, at) =>
    tupleOf(lists.map((list) => (at < list.length ? list[at] : fill))),
  );
}
