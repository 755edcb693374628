import { isMap, isScalar, LineCounter, parseDocument, type ScalarTag } from 'yaml';
import { ConfigError } from './errors.ts';
import { type ConfigMap, type ConfigValue } from './option.ts';

/** One parsed file: its values and the line of each key, by dotted path (two levels). */
export interface ParsedFile {
  readonly file: string;
  readonly values: ConfigMap;
  readonly lines: ReadonlyMap<string, number>;
}

// The plain scalars of YAML 1.1 as PyYAML resolves them (yaml/resolver.py). The yaml package's own
// yaml-1.1 schema differs: it takes `y` and `n` for booleans and `1e3` for a number.
const NULL = /^(?:~|null|Null|NULL)?$/;
const BOOL = /^(?:yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)$/;
const INT =
  /^(?:[-+]?0b[01_]+|[-+]?0[0-7_]+|[-+]?(?:0|[1-9][0-9_]*)|[-+]?0x[0-9a-fA-F_]+|[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+)$/;
const FLOAT =
  /^(?:[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/;

/** Nesting above this is refused: no real configuration comes near, a hostile one might. */
const DEPTH_MAX = 100;

const TAGS: ScalarTag[] = [
  { tag: 'tag:yaml.org,2002:null', default: true, test: NULL, resolve: () => null },
  {
    tag: 'tag:yaml.org,2002:bool',
    default: true,
    test: BOOL,
    resolve: (word) => /^(?:y|t|on)/i.test(word),
  },
  { tag: 'tag:yaml.org,2002:int', default: true, test: INT, resolve: readInt },
  { tag: 'tag:yaml.org,2002:float', default: true, test: FLOAT, resolve: readFloat },
];

/**
 * Reads the text of a configuration file as Salt does (salt/utils/yamlloader.py: YAML 1.1, dates
 * stay texts, integers with a leading zero are decimal, a key twice is an error).
 * Throws ConfigError with Salt's text.
 */
export function parseConfigText(text: string, file: string): ParsedFile {
  const lineCounter = new LineCounter();
  const document = parseDocument(text, {
    schema: 'failsafe',
    customTags: [...TAGS, 'binary'],
    merge: true,
    lineCounter,
    logLevel: 'error',
  });
  const problem = document.errors[0];
  if (problem) throw parseError(file, problem.message, problem.linePos?.[0].line, problem);
  const lines = new Map<string, number>();
  if (isMap(document.contents)) collectLines(document.contents, lineCounter, lines, '');
  let raw: unknown;
  try {
    raw = document.toJS({ mapAsMap: true, maxAliasCount: 1000 });
  } catch (cause) {
    throw parseError(file, (cause as Error).message, undefined, cause);
  }
  if (raw === null || raw === undefined) return { file, values: emptyMap(), lines };
  if (!(raw instanceof Map)) {
    const found = Array.isArray(raw) ? "<class 'list'>" : "<class 'str'>";
    throw parseError(file, `conf should be a document, not ${found}.`);
  }
  return { file, values: plain(raw, file, 0) as ConfigMap, lines };
}

function parseError(file: string, detail: string, line?: number, cause?: unknown): ConfigError {
  const message = `Error parsing configuration file: ${file} - ${detail.trimEnd()}`;
  return new ConfigError('CONFIG_PARSE', message, {
    file,
    ...(line === undefined ? {} : { line }),
    cause,
  });
}

function collectLines(
  map: { items: readonly { key: unknown; value: unknown }[] },
  counter: LineCounter,
  lines: Map<string, number>,
  prefix: string,
): void {
  for (const { key, value } of map.items) {
    if (!isScalar(key) || !key.range) continue;
    const path = prefix + String(key.value);
    lines.set(path, counter.linePos(key.range[0]).line);
    if (prefix.split('.').length <= 2 && isMap(value)) {
      collectLines(value, counter, lines, `${path}.`);
    }
  }
}

function plain(value: unknown, file: string, depth: number): ConfigValue {
  if (depth > DEPTH_MAX) throw parseError(file, 'nested too deeply');
  if (value instanceof Map) {
    const out = emptyMap();
    for (const [key, item] of value) out[keyText(key)] = plain(item, file, depth + 1);
    return out;
  }
  if (Array.isArray(value)) return value.map((item) => plain(item, file, depth + 1));
  return (value ?? null) as ConfigValue;
}

/** Names of options are texts; a number or a boolean as a key becomes what Python prints. */
function keyText(key: unknown): string {
  if (typeof key === 'string') return key;
  if (key === null) return 'None';
  if (typeof key === 'boolean') return key ? 'True' : 'False';
  if (typeof key === 'number') return String(key);
  return JSON.stringify(key);
}

function emptyMap(): Record<string, ConfigValue> {
  return Object.create(null) as Record<string, ConfigValue>;
}

function readInt(word: string): number {
  // Salt strips leading zeros of an unsigned number before PyYAML can take it for octal
  // (salt/utils/yamlloader.py construct_scalar); a signed one stays octal.
  const unsigned = /^0[0-7_]/.test(word) ? word.replace(/^0+(?=.)/, '') : word;
  const digits = unsigned.replaceAll('_', '');
  const sign = digits.startsWith('-') ? -1 : 1;
  const body = digits.replace(/^[-+]/, '');
  if (body.includes(':')) return sign * sexagesimal(body);
  if (/^0[bx]/.test(body)) return sign * Number(body);
  if (/^0[0-7]+$/.test(body) && digits !== body) return sign * Number.parseInt(body, 8);
  return sign * Number(body || '0');
}

function readFloat(word: string): number {
  const digits = word.replaceAll('_', '').toLowerCase();
  const sign = digits.startsWith('-') ? -1 : 1;
  const body = digits.replace(/^[-+]/, '');
  if (body === '.inf') return sign * Infinity;
  if (body === '.nan') return Number.NaN;
  return sign * (body.includes(':') ? sexagesimal(body) : Number(body));
}

function sexagesimal(body: string): number {
  return body.split(':').reduce((total, part) => total * 60 + Number(part), 0);
}
