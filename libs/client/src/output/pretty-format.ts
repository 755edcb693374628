import { isMap, type SaltMap, type SaltValue } from '@brine/wire';
import {
  compareText,
  pyBrackets,
  pyLength,
  pyRepr,
  sortedValues,
  typeName,
} from '@brine/wire/text';

/** Text and white space as in Python: NEL is white space, a byte order mark is not. */
const SPACE =
  '\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000';
const WORD = new RegExp(`[^${SPACE}]*[${SPACE}]*`, 'gu');

const WIDTH = 80;

/**
 * Python's `pprint.pformat(value, indent)`: keys sorted, 80 columns
 * (Python: Lib/pprint.py, PrettyPrinter).
 */
export function prettyFormat(value: SaltValue, indent = 1): string {
  return format(value, { step: indent }, 0, 0, 1);
}

interface Printer {
  readonly step: number;
}

function format(
  value: SaltValue,
  printer: Printer,
  indent: number,
  allowance: number,
  level: number,
): string {
  const short = sortedRepr(value);
  if (pyLength(short) <= WIDTH - indent - allowance) return short;
  if (isMap(value)) return formatMap(value, printer, indent, allowance, level);
  if (Array.isArray(value)) return formatList(value, printer, indent, allowance, level);
  if (typeof value === 'string') return formatText(value, indent, allowance, level);
  if (value instanceof Uint8Array) return formatBytes(value, indent, allowance, level);
  return short;
}

function formatMap(
  map: SaltMap,
  printer: Printer,
  indent: number,
  allowance: number,
  level: number,
): string {
  const inner = indent + printer.step;
  const entries = sortedEntries(map);
  const parts = entries.map(([key, value], index) => {
    const name = sortedRepr(key);
    const last = index === entries.length - 1;
    const column = inner + pyLength(name) + 2;
    return `${name}: ${format(value, printer, column, last ? allowance + 1 : 1, level + 1)}`;
  });
  const pad = printer.step > 1 ? ' '.repeat(printer.step - 1) : '';
  return `{${pad}${parts.join(`,\n${' '.repeat(inner)}`)}}`;
}

function formatList(
  list: readonly SaltValue[],
  printer: Printer,
  indent: number,
  allowance: number,
  level: number,
): string {
  const inner = indent + printer.step;
  const [open, close] = pyBrackets(list);
  const parts = list.map((item, index) => {
    const last = index === list.length - 1;
    return format(item, printer, inner, last ? allowance + close.length : 1, level + 1);
  });
  const pad = printer.step > 1 ? ' '.repeat(printer.step - 1) : '';
  return `${open}${pad}${parts.join(`,\n${' '.repeat(inner)}`)}${close}`;
}

/** A long text as several literals, one below the other (Python: _pprint_str). */
function formatText(text: string, indent: number, allowance: number, level: number): string {
  const outer = level === 1;
  const column = outer ? indent + 1 : indent;
  const room = outer ? allowance + 1 : allowance;
  const max = WIDTH - column;
  const chunks = textChunks(text, max, room);
  if (chunks.length <= 1) return pyRepr(text);
  const body = chunks.join(`\n${' '.repeat(column)}`);
  return outer ? `(${body})` : body;
}

function textChunks(text: string, max: number, allowance: number): string[] {
  const chunks: string[] = [];
  const lines = text.match(/[^\n\r\v\f\x1c-\x1e\x85\u2028\u2029]*(?:\r\n|[^]|$)/g) ?? [];
  const whole = lines.filter((line) => line !== '');
  whole.forEach((line, index) => {
    const lastLine = index === whole.length - 1;
    const width = lastLine ? max - allowance : max;
    if (pyLength(pyRepr(line)) <= width) {
      chunks.push(pyRepr(line));
      return;
    }
    const words = line.match(WORD)?.filter((word) => word !== '') ?? [];
    let current = '';
    words.forEach((word, at) => {
      const candidate = current + word;
      const room = at === words.length - 1 && lastLine ? max - allowance : max;
      if (pyLength(pyRepr(candidate)) > room) {
        if (current !== '') chunks.push(pyRepr(current));
        current = word;
      } else {
        current = candidate;
      }
    });
    if (current !== '') chunks.push(pyRepr(current));
  });
  return chunks;
}

/** Long bytes as several literals, four bytes at a time (Python: _wrap_bytes_repr). */
function formatBytes(bytes: Uint8Array, indent: number, allowance: number, level: number): string {
  if (bytes.length <= 4) return pyRepr(bytes);
  const outer = level === 1;
  const column = outer ? indent + 1 : indent;
  const room = outer ? allowance + 1 : allowance;
  const last = Math.floor(bytes.length / 4) * 4;
  let width = WIDTH - column;
  const chunks: string[] = [];
  let current = new Uint8Array();
  for (let at = 0; at < bytes.length; at += 4) {
    const candidate = bytes.slice(at - current.length, at + 4);
    if (at === last) width -= room;
    if (pyRepr(candidate).length > width) {
      if (current.length > 0) chunks.push(pyRepr(current));
      current = bytes.slice(at, at + 4);
    } else {
      current = candidate;
    }
  }
  if (current.length > 0) chunks.push(pyRepr(current));
  const body = chunks.join(`\n${' '.repeat(column)}`);
  return outer ? `(${body})` : body;
}

/** The repr with every dictionary sorted, as pprint measures and prints it. */
function sortedRepr(value: SaltValue): string {
  if (Array.isArray(value)) {
    const [open, close] = pyBrackets(value);
    return `${open}${value.map(sortedRepr).join(', ')}${close}`;
  }
  if (!isMap(value)) return pyRepr(value);
  const parts = sortedEntries(value).map(
    ([key, item]) => `${sortedRepr(key)}: ${sortedRepr(item)}`,
  );
  return `{${parts.join(', ')}}`;
}

/**
 * By key; keys that Python cannot compare by the names of their types (Python: pprint._safe_key).
 */
function sortedEntries(map: SaltMap): [SaltValue, SaltValue][] {
  const keys = sortedValues(map.keys()) ?? [...map.keys()].sort(compareSafely);
  return keys.map((key) => [key, map.get(key) ?? null]);
}

function compareSafely(a: SaltValue, b: SaltValue): number {
  const [first, second] = sortedValues([a, b]) ?? [];
  if (first === undefined) return compareText(typeName(a), typeName(b));
  return first === second || second === a ? Number(first !== second) : -1;
}
