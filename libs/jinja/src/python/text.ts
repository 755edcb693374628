import { SaltFloat, type SaltValue } from '@brine/wire';
import { pyFloat, pyRepr } from '@brine/wire/text';
import { doubleQuoted } from '@brine/yaml';
import { JinjaError } from '../errors.ts';
import { PyFunction, PyObject, PySet, Range, Tuple, Undefined } from './values.ts';

const MAX_DEPTH = 200;

/** Python's `repr`. @throws JinjaError (Undefined) */
export function repr(value: unknown): string {
  return write(value, false, 0);
}

/** Python's `str`. @throws JinjaError (Undefined) */
export function str(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value instanceof Undefined) {
    if (value.lenient) return '';
    throw value.error();
  }
  return value instanceof PyObject ? value.text() : repr(value);
}

/**
 * The output of `{{ … }}`. In dicts, texts with line ends or tabs get YAML's double quotes, so that
 * the YAML around them reads them back (Salt: salt/utils/jinja.py PrintableDict).
 */
export function printed(value: unknown): string {
  if (value instanceof Map || Array.isArray(value) || value instanceof PySet) {
    return write(value, true, 0);
  }
  return str(value);
}

function write(value: unknown, forYaml: boolean, depth: number): string {
  if (depth > MAX_DEPTH) throw new JinjaError('Limit', 'nested too deeply');
  const inner = (item: unknown): string => write(item, forYaml, depth + 1);
  if (value instanceof Tuple) {
    return value.length === 1 ? `(${inner(value[0])},)` : `(${[...value].map(inner).join(', ')})`;
  }
  if (value instanceof Range) return value.text;
  if (Array.isArray(value)) return `[${value.map(inner).join(', ')}]`;
  if (value instanceof Map) return writeDict(value, forYaml, inner);
  if (value instanceof PySet) {
    return value.items.length === 0 ? 'set()' : `{${value.items.map(inner).join(', ')}}`;
  }
  if (value instanceof SaltFloat) return pyFloat(value.value);
  if (value instanceof Undefined) return 'Undefined';
  if (value instanceof PyFunction) return value.shown ?? `<function ${value.name}>`;
  if (value instanceof PyObject) return value.text();
  return pyRepr(value as SaltValue);
}

function writeDict(
  dict: ReadonlyMap<unknown, unknown>,
  forYaml: boolean,
  inner: (item: unknown) => string,
): string {
  const entries: string[] = [];
  for (const [key, item] of dict) {
    if (forYaml && item instanceof Undefined) throw item.error();
    const quoted = forYaml && typeof item === 'string' && /[\n\r\t]/.test(item);
    entries.push(`${inner(key)}: ${quoted ? doubleQuoted(item) : inner(item)}`);
  }
  return `{${entries.join(', ')}}`;
}
