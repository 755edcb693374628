import { compareText } from '@brine/wire';
import { orderOf } from './operators.ts';
import { repr } from './text.ts';
import { Tuple, isDict } from './values.ts';

const WIDTH = 80;

/** Python's `pprint.pformat`: dicts sorted by key, lines of at most 80 columns where it can. */
export function pretty(value: unknown): string {
  return shown(value, 0, 0);
}

function shown(value: unknown, indent: number, allowance: number): string {
  const flat = flatText(value);
  if (flat.length <= WIDTH - indent - allowance) return flat;
  if (isDict(value) && value.size > 0) {
    const entries = sortedEntries(value).map(([key, item], at, all) => {
      const name = `${repr(key)}: `;
      const rest = at === all.length - 1 ? allowance + 1 : 1;
      return name + shown(item, indent + 1 + name.length, rest);
    });
    return `{${entries.join(`,\n${' '.repeat(indent + 1)}`)}}`;
  }
  if (Array.isArray(value) && value.length > 0) {
    const tuple = value instanceof Tuple;
    const list = [...(value as unknown[])];
    const end = tuple ? (list.length === 1 ? ',)' : ')') : ']';
    const items = list.map((item, at) => {
      const rest = at === list.length - 1 ? allowance + end.length : 1;
      return shown(item, indent + 1, rest);
    });
    return (tuple ? '(' : '[') + items.join(`,\n${' '.repeat(indent + 1)}`) + end;
  }
  return flat;
}

function flatText(value: unknown): string {
  if (isDict(value)) {
    const entries = sortedEntries(value).map(([key, item]) => `${repr(key)}: ${flatText(item)}`);
    return `{${entries.join(', ')}}`;
  }
  if (Array.isArray(value) && !(value instanceof Tuple)) {
    return `[${(value as unknown[]).map(flatText).join(', ')}]`;
  }
  return repr(value);
}

function sortedEntries(dict: ReadonlyMap<unknown, unknown>): [unknown, unknown][] {
  return [...dict].sort(([a], [b]) => {
    try {
      return orderOf(a, b);
    } catch {
      return compareText(typeof a, typeof b);
    }
  });
}
