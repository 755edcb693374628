import { isMap, SaltFloat, type SaltValue } from '@brine/wire';
import { isTruthy, pyStr, typeName } from '@brine/wire/text';
import { loadYamlFile, type YamlFile, YamlLoadError } from '@brine/yaml';
import { ConfigError } from '../errors.ts';
import { type ConfigMap, type ConfigValue } from '../option.ts';

/** One parsed file: its values and the line of each key, by dotted path (two levels). */
export interface ParsedFile {
  readonly file: string;
  readonly values: ConfigMap;
  readonly lines: ReadonlyMap<string, number>;
}

/**
 * Reads the text of a configuration file as Salt does (salt/utils/yamlloader.py: YAML 1.1, dates
 * stay texts, integers with a leading zero are decimal, a duplicate key is an error). Throws
 * ConfigError with Salt's text.
 */
export function parseConfigText(text: string, file: string): ParsedFile {
  const { value, lines } = loaded(text, file);
  if (!isTruthy(value)) return { file, values: emptyMap(), lines };
  if (!isMap(value)) {
    throw parseError(file, `conf should be a document, not <class '${typeName(value)}'>.`);
  }
  return { file, values: plain(value) as ConfigMap, lines };
}

function loaded(text: string, file: string): YamlFile {
  try {
    return loadYamlFile(text, file);
  } catch (error) {
    if (!(error instanceof YamlLoadError)) throw error;
    const line = error.fault?.mark?.line;
    throw parseError(file, error.message, line === undefined ? undefined : line + 1, error);
  }
}

function parseError(file: string, detail: string, line?: number, cause?: unknown): ConfigError {
  const message = `Error parsing configuration file: ${file} - ${detail.trimEnd()}`;
  return new ConfigError('CONFIG_PARSE', message, {
    file,
    ...(line === undefined ? {} : { line }),
    cause,
  });
}

/** Integers become numbers, because options need no larger ones. */
function plain(value: SaltValue): ConfigValue {
  if (isMap(value)) {
    const out = emptyMap();
    // Names of options are texts: a number or a boolean becomes what Python prints.
    for (const [key, item] of value) out[pyStr(key)] = plain(item);
    return out;
  }
  if (Array.isArray(value)) return value.map(plain);
  if (value instanceof SaltFloat) return value.value;
  if (typeof value === 'bigint') return Number(value);
  return value as ConfigValue;
}

function emptyMap(): Record<string, ConfigValue> {
  return Object.create(null) as Record<string, ConfigValue>;
}
