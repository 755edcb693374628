import { isMap, type SaltMap, type SaltValue } from '@brine/wire';
import { isNumber, pyRepr, sortedValues } from '@brine/wire/text';
import type { OutputContext } from './outputter.ts';

/**
 * JSON as Python's json.dumps prints it: four spaces, non-ASCII as it is, keys in their order; a
 * negative indentation means one line (Salt: salt/output/json_out.py).
 */
export function jsonOutput(data: SaltValue, context: OutputContext): string {
  const indent = context.indent ?? 4;
  const style: Style = {
    unit: indent === 'pretty' ? '    ' : indent < 0 ? undefined : ' '.repeat(indent),
    sorted: indent === 'pretty',
  };
  const text = write(data, style, '');
  // Keys that JSON cannot have make Salt print an empty object.
  return text ?? '{}';
}

/**
 * JSON in one line, as Python's `json.dumps` writes it; undefined for a value that it refuses, as
 * bytes.
 */
export function strictJson(value: SaltValue): string | undefined {
  return write(value, { unit: undefined, sorted: false, strict: true }, '');
}

/** JSON as Python's `json.dumps` writes it: in one line, or pretty with sorted keys. */
export function pythonJson(value: SaltValue, pretty: boolean): string {
  return write(value, { unit: pretty ? '    ' : undefined, sorted: pretty }, '') ?? '{}';
}

interface Style {
  /** One level of indentation; undefined: all in one line. */
  readonly unit: string | undefined;
  readonly sorted: boolean;
  /** Values that JSON can not have make all of it unfit; else they are written as their repr. */
  readonly strict?: boolean;
}

function write(value: SaltValue, style: Style, indent: string): string | undefined {
  if (value === null) return 'null';
  if (typeof value === 'boolean') return String(value);
  if (typeof value === 'string') return JSON.stringify(value);
  if (isNumber(value)) return number(pyRepr(value));
  if (Array.isArray(value)) return writeList(value, style, indent);
  if (isMap(value)) return writeMap(value, style, indent);
  return style.strict === true ? undefined : JSON.stringify(pyRepr(value));
}

function number(repr: string): string {
  if (repr === 'nan') return 'NaN';
  return repr.replace('inf', 'Infinity');
}

function writeList(list: readonly SaltValue[], style: Style, indent: string): string | undefined {
  const items: string[] = [];
  for (const item of list) {
    const text = write(item, style, indent + (style.unit ?? ''));
    if (text === undefined) return undefined;
    items.push(text);
  }
  return wrap('[', items, ']', style, indent);
}

function writeMap(map: SaltMap, style: Style, indent: string): string | undefined {
  const items: string[] = [];
  const keys = style.sorted ? sortedValues(map.keys()) : [...map.keys()];
  if (keys === undefined) return undefined;
  for (const key of keys) {
    const name = keyText(key);
    const text = write(map.get(key) ?? null, style, indent + (style.unit ?? ''));
    if (name === undefined || text === undefined) return undefined;
    items.push(`${JSON.stringify(name)}: ${text}`);
  }
  return wrap('{', items, '}', style, indent);
}

function keyText(key: SaltValue): string | undefined {
  if (typeof key === 'string') return key;
  if (key === null) return 'null';
  if (typeof key === 'boolean') return String(key);
  return isNumber(key) ? number(pyRepr(key)) : undefined;
}

function wrap(
  open: string,
  items: readonly string[],
  close: string,
  style: Style,
  indent: string,
): string {
  if (items.length === 0) return open + close;
  if (style.unit === undefined) return open + items.join(', ') + close;
  const inner = `\n${indent}${style.unit}`;
  return `${open}${inner}${items.join(`,${inner}`)}\n${indent}${close}`;
}
