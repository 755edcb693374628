import { type PlainMeaning, resolvePlain } from '@brine/yaml';
import { isMap, isScalar, LineCounter, parseDocument, type ScalarTag } from 'yaml';
import { ConfigError } from '../errors.ts';
import { type ConfigMap, type ConfigValue } from '../option.ts';

/** One parsed file: its values and the line of each key, by dotted path (two levels). */
export interface ParsedFile {
  readonly file: string;
  readonly values: ConfigMap;
  readonly lines: ReadonlyMap<string, number>;
}

/** Nesting above this is refused: no real configuration comes near, a hostile one might. */
const DEPTH_MAX = 100;

/** True for the unquoted scalars of one kind, as PyYAML and Salt tell kinds apart. */
class PlainTest extends RegExp {
  readonly #kind: PlainMeaning['kind'];

  constructor(kind: PlainMeaning['kind']) {
    super('');
    this.#kind = kind;
  }

  override test(text: string): boolean {
    return resolvePlain(text).kind === this.#kind;
  }
}

// The yaml package's own yaml-1.1 schema takes `y` and `n` for booleans and `1e3` for a number.
const TAGS = (['null', 'bool', 'int', 'float'] as const).map((kind): ScalarTag => {
  const tag = `tag:yaml.org,2002:${kind}`;
  return { tag, default: true, test: new PlainTest(kind), resolve: scalarOf };
});

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

/** The value of an unquoted scalar; integers are numbers, as options need no larger ones. */
function scalarOf(text: string): ConfigValue {
  const meaning = resolvePlain(text);
  switch (meaning.kind) {
    case 'null':
      return null;
    case 'int':
      return Number(meaning.value);
    case 'bool':
    case 'float':
      return meaning.value;
    default:
      return text;
  }
}
