import { compareText } from '@brine/wire/text';
import { bounded, joinBounded } from '../limits.ts';
import { orderOf } from './operators.ts';
import { repr } from './text.ts';
import { isDict, Tuple } from './values.ts';

const WIDTH = 80;

/** Python's `pprint.pformat`: dicts sorted by key, lines of at most 80 columns where possible. */
export function pretty(value: unknown): string {
  return shown(value, 0, 0);
}

function shown(value: unknown, indent: number, allowance: number): string {
  const flat = flatText(value, WIDTH - indent - allowance);
  if (flat !== undefined) return flat;
  if (isDict(value) && value.size > 0) {
    const entries = sortedEntries(value).map(([key, item], at, all) => {
      const name = `${repr(key)}: `;
      const rest = at === all.length - 1 ? allowance + 1 : 1;
      return name + shown(item, indent + 1 + name.length, rest);
    });
    return `{${joinBounded(entries, newline(indent))}}`;
  }
  if (Array.isArray(value) && value.length > 0) {
    const tuple = value instanceof Tuple;
    const list = [...(value as unknown[])];
    const end = tuple ? (list.length === 1 ? ',)' : ')') : ']';
    const items = list.map((item, at) => {
      const rest = at === list.length - 1 ? allowance + end.length : 1;
      return shown(item, indent + 1, rest);
    });
    return (tuple ? '(' : '[') + joinBounded(items, newline(indent)) + end;
  }
  return repr(value);
}

function newline(indent: number): string {
  return `,\n${bounded(indent, () => ' '.repeat(indent + 1))}`;
}

/** A value on one line; undefined as soon as it is longer than `room`. */
function flatText(value: unknown, room: number): string | undefined {
  if (!isDict(value) && !Array.isArray(value)) {
    return fitting(repr(value), room);
  }
  const size = isDict(value) ? value.size : value.length;
  // Each member takes a character and a separator.
  if (3 * size > room) return undefined;
  if (value instanceof Tuple) return fitting(repr(value), room);
  const parts: string[] = [];
  let left = room - 2;
  for (const member of isDict(value) ? sortedEntries(value) : (value as unknown[])) {
    const [key, item] = isDict(value) ? (member as [unknown, unknown]) : [undefined, member];
    const name = isDict(value) ? `${repr(key)}: ` : '';
    const text = flatText(item, left - name.length);
    if (text === undefined) return undefined;
    parts.push(name + text);
    left -= name.length + text.length + (parts.length < size ? 2 : 0);
    if (left < 0) return undefined;
  }
  const line = parts.join(', ');
  return isDict(value) ? `{${line}}` : `[${line}]`;
}

function fitting(text: string, room: number): string | undefined {
  return text.length <= room ? text : undefined;
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
