import { isMap, SaltConstant, SaltDatetime, SaltFloat, type SaltValue } from '../value.ts';
import { pyRepr } from './python-repr.ts';

// Where Python's str.splitlines breaks (library reference, str.splitlines).
const LINE_END = /\r\n|[\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029]/;
// The white space of Python's str.strip.
const SPACE = new Set(
  '\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006' +
    '\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000',
);

/** The lines of a text as Python's `str.splitlines`: no empty one after a final line end. */
export function splitLines(text: string): string[] {
  const lines = text.split(LINE_END);
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

/** Python's `str.rstrip()`. */
export function stripEnd(text: string): string {
  let end = text.length;
  while (end > 0 && SPACE.has(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
}

/** Python's `str.strip()`. */
export function strip(text: string): string {
  const ended = stripEnd(text);
  let start = 0;
  while (start < ended.length && SPACE.has(ended.charAt(start))) start += 1;
  return ended.slice(start);
}

/** Python's `str(value)`: text as it is, everything else by its repr. */
export function pyStr(value: SaltValue): string {
  return typeof value === 'string' ? value : pyRepr(value);
}

/** The length in code points, as Python counts. */
export function pyLength(text: string): number {
  let surrogates = 0;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit >= 0xd800 && unit < 0xdc00) surrogates += 1;
  }
  return text.length - surrogates;
}

/** ESC becomes `?`, so that a return cannot control the terminal (Salt: strip_esc_sequence). */
export function stripEscapes(text: string): string {
  return text.replaceAll('\x1b', '?');
}

/** Python's truth of a value. */
export function isTruthy(value: SaltValue | undefined): boolean {
  if (value === undefined || value === null || value === false) return false;
  if (value === true) return true;
  if (typeof value === 'string' || value instanceof Uint8Array || Array.isArray(value)) {
    return value.length > 0;
  }
  if (isMap(value)) return value.size > 0;
  if (value instanceof SaltFloat) return value.value !== 0;
  return typeof value === 'bigint' ? value !== 0n : value !== 0;
}

/** True for a number of Python; callers check booleans before. */
export function isNumber(value: SaltValue | undefined): value is number | bigint | SaltFloat {
  return typeof value === 'number' || typeof value === 'bigint' || value instanceof SaltFloat;
}

/** Compares two texts by code point, as Python sorts them. */
export function compareText(a: string, b: string): number {
  const shorter = Math.min(a.length, b.length);
  for (let at = 0; at < shorter; at += 1) {
    const left = a.charCodeAt(at);
    const right = b.charCodeAt(at);
    if (left === right) continue;
    const leftHigh = left >= 0xd800 && left <= 0xdfff;
    const rightHigh = right >= 0xd800 && right <= 0xdfff;
    // A surrogate means a code point above every other 16 bit unit.
    if (leftHigh !== rightHigh) return leftHigh ? 1 : -1;
    return left - right;
  }
  return a.length - b.length;
}

function numeric(value: SaltValue): number | bigint | undefined {
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (value instanceof SaltFloat) return value.value;
  return typeof value === 'number' || typeof value === 'bigint' ? value : undefined;
}

/**
 * Python's `sorted(values)`; undefined if Python raises TypeError because the values cannot be
 * compared with each other.
 */
export function sortedValues(values: Iterable<SaltValue>): SaltValue[] | undefined {
  const list = [...values];
  if (list.length < 2) return list;
  if (list.every((value) => typeof value === 'string')) {
    return list.sort((a, b) => compareText(a, b));
  }
  if (list.every((value) => value instanceof Uint8Array)) {
    return list.sort((a, b) => Buffer.compare(a, b));
  }
  if (list.every((value) => numeric(value) !== undefined)) {
    return list.sort((a, b) => {
      const left = numeric(a) ?? 0;
      const right = numeric(b) ?? 0;
      return left < right ? -1 : left > right ? 1 : 0;
    });
  }
  return undefined;
}

/** Python's name of the type of a value, for error texts and the order of mixed keys. */
export function typeName(value: SaltValue): string {
  if (value === null) return 'NoneType';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'string') return 'str';
  if (typeof value === 'bigint') return 'int';
  if (typeof value === 'number') return Number.isInteger(value) ? 'int' : 'float';
  if (value instanceof SaltFloat) return 'float';
  if (value instanceof Uint8Array) return 'bytes';
  if (value instanceof SaltDatetime) return 'datetime';
  if (value instanceof SaltConstant) return 'NamedLoaderContext';
  return Array.isArray(value) ? 'list' : 'dict';
}
