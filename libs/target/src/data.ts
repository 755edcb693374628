import { type Work, WorkError } from './work.ts';

// The work of printing a value, in steps.
const STEPS_PER_VALUE = 20;
const MAX_DEPTH = 512;

/**
 * A value of grains or pillar. Maps and plain objects are Python's dict, arrays its list;
 * objects with a numeric `value` are floats that are whole (`wire` keeps those apart).
 */
export type Data = unknown;

/** A dict in one of its two shapes. */
export type Dict = ReadonlyMap<unknown, unknown> | Readonly<Record<string, unknown>>;

/** True for Python's dict. */
export function isDict(value: Data): value is Dict {
  if (typeof value !== 'object' || value === null) return false;
  if (value instanceof Map) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** The member of a dict; undefined where the key is missing. Never reaches a prototype. */
export function member(dict: Dict, key: string | number | bigint | boolean | null): Data {
  if (dict instanceof Map) {
    const found = (dict as ReadonlyMap<unknown, unknown>).get(key);
    if (found !== undefined || !Number.isInteger(key)) return found;
    return (dict as ReadonlyMap<unknown, unknown>).get(BigInt(Number(key)));
  }
  // The keys of an object are text: 8080 is not one of them, '8080' may be.
  if (typeof key !== 'string' || !Object.hasOwn(dict, key)) return undefined;
  return (dict as Readonly<Record<string, unknown>>)[key];
}

/** The keys of a dict in order. */
export function keysOf(dict: Dict): Iterable<Data> {
  return dict instanceof Map ? (dict as ReadonlyMap<unknown, unknown>).keys() : Object.keys(dict);
}

/** The values of a dict in order. */
export function members(dict: Dict): Iterable<Data> {
  if (dict instanceof Map) return (dict as ReadonlyMap<unknown, unknown>).values();
  return Object.values(dict as Readonly<Record<string, unknown>>);
}

/** Number of members of a dict. */
export function sizeOf(dict: Dict): number {
  return dict instanceof Map ? dict.size : Object.keys(dict).length;
}

/** The text of Python's `str` for a value. @throws WorkError for a value that is too large. */
export function pythonText(value: Data, work: Work): string {
  return typeof value === 'string' ? value : pythonRepr(value, work, 0);
}

function pythonRepr(value: Data, work: Work, depth: number): string {
  work.spend(STEPS_PER_VALUE);
  if (depth > MAX_DEPTH) throw new WorkError('nested too deeply');
  if (typeof value === 'string') {
    work.spend(value.length);
    return quoted(value);
  }
  if (typeof value === 'number') return numberText(value);
  if (typeof value === 'bigint') return String(value);
  if (value === true) return 'True';
  if (value === false) return 'False';
  if (value === null || value === undefined) return 'None';
  if (value instanceof Uint8Array) {
    work.spend(value.length);
    return `b${quoted(Buffer.from(value).toString('latin1'))}`;
  }
  const inner = (one: Data): string => pythonRepr(one, work, depth + 1);
  if (Array.isArray(value)) return `[${value.map(inner).join(', ')}]`;
  if (isDict(value)) {
    const entries = value instanceof Map ? [...value.entries()] : Object.entries(value);
    return `{${entries.map(([k, v]) => `${inner(k)}: ${inner(v)}`).join(', ')}}`;
  }
  const float = (value as { readonly value?: unknown }).value;
  // Dates and constants of msgpack have no text that an expression could name.
  return typeof float === 'number' ? `${numberText(float)}.0` : '<object>';
}

function numberText(value: number): string {
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf';
  if (Math.abs(value) >= 1e-4 || value === 0) return String(value);
  return value.toExponential().replace(/e-(\d)$/, 'e-0$1');
}

const NEEDS_ESCAPE = /[\\'\0-\x1f\x7f-\xa0\xad]/;

function quoted(text: string): string {
  if (!NEEDS_ESCAPE.test(text)) return `'${text}'`;
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = text
    .replaceAll('\\', '\\\\')
    .replaceAll(quote, `\\${quote}`)
    .replaceAll('\n', '\\n')
    .replaceAll('\r', '\\r')
    .replaceAll('\t', '\\t')
    .replace(
      /[\0-\x1f\x7f-\xa0\xad]/g,
      (c) => `\\x${c.charCodeAt(0).toString(16).padStart(2, '0')}`,
    );
  return quote + escaped + quote;
}
