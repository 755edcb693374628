import { SaltFloat, type SaltValue } from '@brine/wire';
import { readJson } from '@brine/wire/text';
import {
  doubleQuoted,
  loadSls,
  singleQuoted,
  YamlEmitter,
  YamlLoadError,
  YamlWork,
} from '@brine/yaml';
import { bind } from '../arguments.ts';
import type { Filter } from '../environment.ts';
import { JinjaError, typeError } from '../errors.ts';
import { joinBounded } from '../limits.ts';
import { orderOf } from '../python/operators.ts';
import { pretty } from '../python/pretty.ts';
import { str } from '../python/text.ts';
import {
  isDict,
  iterate,
  numberOf,
  PyObject,
  PySet,
  Range,
  truth,
  tupleOf,
  typeName,
  Undefined,
} from '../python/values.ts';

/** Filters that write and read YAML and JSON (Salt: salt/utils/jinja.py SerializerExtension). */
export const DATA_FILTERS: ReadonlyMap<string, Filter> = new Map<string, Filter>([
  [
    'json',
    (value, args) => {
      const bound = bind('json', ['sort_keys', 'indent'], args, { sort_keys: true, indent: null });
      return jsonText(value, truth(bound.get('sort_keys')), bound.get('indent'), false).trim();
    },
  ],
  [
    'tojson',
    (value, args) => {
      const indent = args.positional[0] ?? args.named.get('indent');
      const sort = truth(args.named.get('sort_keys') ?? false);
      const ascii = truth(args.named.get('ensure_ascii') ?? true);
      return jsonText(value, sort, indent, ascii)
        .replaceAll('<', '\\u003c')
        .replaceAll('>', '\\u003e')
        .replaceAll('&', '\\u0026')
        .replaceAll("'", '\\u0027');
    },
  ],
  [
    'yaml',
    (value, args) => yamlText(value, flow(args.positional[0] ?? args.named.get('flow_style'))),
  ],
  ['python', (value) => pretty(defined(value)).trim()],
  ['load_yaml', (value) => loadData('yaml', textOf(value))],
  ['load_json', (value) => loadData('json', textOf(value))],
  ['load_text', (value) => textOf(value)],
  [
    'dict_to_sls_yaml_params',
    (value, args) => {
      if (!isDict(value)) throw typeError(`'${typeName(value)}' object has no attribute 'items'`);
      const list = [...value].map((entry) => new Map([entry]));
      return yamlText(list, truth(args.positional[0] ?? args.named.get('flow_style') ?? false));
    },
  ],
  ['yaml_dquote', (value) => doubleQuoted(str(value))],
  ['yaml_squote', (value) => singleQuoted(str(value))],
  ['yaml_encode', (value) => yamlScalar(value)],
  ['json_encode_dict', (value) => value],
  ['json_encode_list', (value) => value],
  ['json_decode_dict', (value) => value],
  ['json_decode_list', (value) => value],
]);

function defined(value: unknown): unknown {
  if (value instanceof Undefined) throw value.error();
  return value;
}

function flow(value: unknown): boolean {
  return value === undefined ? true : truth(value);
}

function textOf(given: unknown): unknown {
  const value = defined(given);
  return value instanceof PyObject && value.typeName === 'TemplateModule' ? value.text() : value;
}

/** The value in a text of this format (`yaml`, `json`, `text`). @throws JinjaError (Runtime) */
export function loadData(format: string, text: unknown): unknown {
  if (format === 'text') return text;
  if (typeof text !== 'string') {
    if (format === 'yaml') throw typeError('a string or stream input is required');
    throw new JinjaError('Runtime', `Unable to load ${format} from ${str(text)}`);
  }
  if (format === 'json') {
    try {
      return readJson(text);
    } catch {
      throw new JinjaError('Runtime', `Unable to load json from ${text}`);
    }
  }
  try {
    return loadSls(text, YamlWork.ofFile());
  } catch (error) {
    if (!(error instanceof YamlLoadError)) throw error;
    throw new JinjaError('Runtime', `Encountered error loading yaml: ${error.message}`);
  }
}

/** A value as Salt's YAML dumper takes it: tuples are lists, sets are maps. */
function plain(value: unknown): SaltValue {
  if (value instanceof Undefined) throw value.error();
  if (value instanceof Map) {
    return new Map([...value].map(([key, item]) => [plain(key), plain(item)]));
  }
  if (Array.isArray(value)) return [...(value as unknown[])].map(plain);
  if (value instanceof PySet) return new Map(value.items.map((item) => [plain(item), null]));
  return value instanceof PyObject ? value.text() : (value as SaltValue);
}

/** The output of the filter `yaml`. */
function yamlText(value: unknown, flowStyle: boolean): string {
  const text = new YamlEmitter(2, flowStyle).dump(plain(value)).trim();
  return text.endsWith('\n...') ? text.slice(0, -4) : text;
}

function yamlScalar(value: unknown): string {
  if (typeof value === 'string') return doubleQuoted(value);
  if (isDict(value) || Array.isArray(value)) {
    const type = `<class '${typeName(value)}'>`;
    throw typeError(`yaml_encode() only works with YAML scalar data; failed for ${type}`);
  }
  return yamlText(value, true);
}

/** The output of Python's `json.dumps`. @throws JinjaError (TypeError, Undefined) */
function jsonText(value: unknown, sort: boolean, indent: unknown, ascii: boolean): string {
  const number = numberOf(indent ?? null);
  const step =
    typeof indent === 'string'
      ? indent
      : number === undefined
        ? undefined
        : ' '.repeat(Math.min(Number(number), 100));
  return jsonNode(value, { sort, step, ascii }, '\n');
}

/** As Python's `json.dumps` with `separators=(',', ':')` and `default=str`. */
export function compactJson(value: unknown): string {
  return jsonNode(value, { sort: false, step: undefined, ascii: true, isCompact: true }, '');
}

interface JsonStyle {
  readonly sort: boolean;
  readonly step: string | undefined;
  readonly ascii: boolean;
  /** Without spaces; values outside JSON are written as text. */
  readonly isCompact?: boolean;
}

function jsonNode(value: unknown, style: JsonStyle, newline: string): string {
  if (value instanceof Undefined) throw value.error();
  if (typeof value === 'string') return jsonString(value, style.ascii);
  if (value === null || typeof value === 'boolean') return String(value);
  const number = numberOf(value);
  if (number !== undefined) {
    if (Number.isNaN(number)) return 'NaN';
    if (number === Infinity || number === -Infinity) return number > 0 ? 'Infinity' : '-Infinity';
    return value instanceof SaltFloat || typeof number === 'number' ? str(value) : String(number);
  }
  const inner = style.step === undefined ? '' : newline + style.step;
  const comma = style.step === undefined ? (style.isCompact === true ? ',' : ', ') : `,${inner}`;
  const colon = style.isCompact === true ? ':' : ': ';
  const wrap = (items: string[], open: string, close: string): string => {
    if (items.length === 0) return open + close;
    const end = style.step === undefined ? '' : newline;
    return open + inner + joinBounded(items, comma) + end + close;
  };
  if (isDict(value)) {
    const entries = style.sort ? [...value].sort(([a], [b]) => orderOf(a, b)) : [...value];
    const items = entries.map(
      ([key, item]) =>
        `${jsonString(jsonKey(key), style.ascii)}${colon}${jsonNode(item, style, inner)}`,
    );
    return wrap(items, '{', '}');
  }
  if (Array.isArray(value) && !(value instanceof Range)) {
    return wrap(
      [...iterate(value)].map((item) => jsonNode(item, style, inner)),
      '[',
      ']',
    );
  }
  if (style.isCompact === true) return jsonString(str(value), style.ascii);
  throw typeError(`Object of type ${typeName(value)} is not JSON serializable`);
}

function jsonKey(key: unknown): string {
  if (typeof key === 'string') return key;
  if (key === null || typeof key === 'boolean') return String(key);
  if (numberOf(key) !== undefined) return str(key);
  const type = typeName(key);
  throw typeError(`keys must be str, int, float, bool or None, not ${type}`);
}

function jsonString(text: string, ascii: boolean): string {
  const json = JSON.stringify(text);
  if (!ascii) return json;
  return json.replaceAll(/[\x7f-\uffff]/g, (unit) => {
    if (unit === '\x7f') return unit;
    return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

/** A mapping as pairs, for filters that take either. */
export function pairsOf(value: unknown): unknown[] {
  return isDict(value) ? [...value].map((entry) => tupleOf(entry)) : iterate(value);
}
