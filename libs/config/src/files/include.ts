import { readdirSync, readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join, sep } from 'node:path';
import { isSystemError } from '@brine/files';
import { ConfigError, type ConfigWarning } from '../errors.ts';
import { type ConfigMap, type ConfigValue, isConfigMap, isList } from '../option.ts';
import { parseConfigText, type ParsedFile } from './yaml.ts';

/** More files than this is a mistake (an include of itself), not a configuration. */
const FILES_MAX = 1000;

/** The main file with all it includes: the merged values and the files, in the order read. */
export interface Sources {
  readonly values: ConfigMap;
  readonly files: readonly ParsedFile[];
}

/**
 * Reads a main file and what it includes, as Salt does (salt/config master_config). Files of
 * `default_include`, sorted by name, come before those of `include`. Maps and lists of included
 * files are merged. The result replaces whole options of the main file. A missing main file has no
 * values. Throws ConfigError.
 */
export function readSources(
  path: string,
  defaultInclude: string,
  warn: (warning: ConfigWarning) => void,
): Sources {
  const files: ParsedFile[] = [];
  const main = readFile(path);
  if (main) files.push(main);
  const values: Record<string, ConfigValue> = Object.assign(emptyMap(), main?.values);
  const named = values['default_include'];
  const include = typeof named === 'string' ? named : defaultInclude;
  Object.assign(values, readIncludes(include, path, files, undefined));
  Object.assign(values, readIncludes(main?.values['include'], path, files, warn));
  return { values, files };
}

function readIncludes(
  include: ConfigValue | undefined,
  from: string,
  files: ParsedFile[],
  warn: ((warning: ConfigWarning) => void) | undefined,
): ConfigMap {
  let merged: ConfigMap = emptyMap();
  for (const pattern of isList(include) ? include : [include]) {
    if (typeof pattern !== 'string' || pattern === '') continue;
    const matches = glob(absolute(pattern, from));
    if (matches.length === 0 && warn) {
      const text =
        'Warning parsing configuration file: "include" path/glob ' +
        `'${pattern}' matches no files`;
      warn({ kind: 'missing', text, file: from, line: 0 });
    }
    for (const path of matches) {
      const parsed = readFile(path);
      if (!parsed) continue;
      files.push(parsed);
      if (files.length > FILES_MAX) {
        throw new ConfigError(
          'CONFIG_READ',
          `More than ${FILES_MAX} files: does ${path} include itself?`,
        );
      }
      const nested = readIncludes(parsed.values['include'], path, files, warn);
      merged = mergeMaps(merged, Object.assign(emptyMap(), parsed.values, nested));
    }
  }
  return merged;
}

/**
 * As salt/utils/dictupdate.update with merge_lists: values already in the list are not repeated.
 */
export function mergeMaps(base: ConfigMap, update: ConfigMap): ConfigMap {
  const out: Record<string, ConfigValue> = Object.assign(emptyMap(), base);
  for (const [key, value] of Object.entries(update)) {
    const old = out[key];
    if (isConfigMap(old) && isConfigMap(value)) out[key] = mergeMaps(old, value);
    else if (isList(old) && isList(value)) {
      const seen = new Set(old.map((item) => JSON.stringify(item)));
      out[key] = [...old, ...value.filter((item) => !seen.has(JSON.stringify(item)))];
    } else out[key] = value;
  }
  return out;
}

function readFile(path: string): ParsedFile | undefined {
  let text: string;
  try {
    if (!statSync(path).isFile()) return undefined;
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    // Salt takes an unreadable or missing file for an absent one (load_config is_readable); an
    // unreadable one would silently start a master on defaults, so that is an error here.
    if (isSystemError(cause, 'ENOENT', 'ENOTDIR')) return undefined;
    throw new ConfigError('CONFIG_READ', `Can not read ${path}: ${(cause as Error).message}`, {
      file: path,
      cause,
    });
  }
  return parseConfigText(text, path);
}

function absolute(pattern: string, from: string): string {
  const home = pattern.startsWith('~/') ? join(homedir(), pattern.slice(2)) : pattern;
  return isAbsolute(home) ? home : join(dirname(from), home);
}

/** Python's glob for `*`, `?` and `[…]` in any part of the path; sorted. */
function glob(pattern: string): string[] {
  let found: string[] = [sep];
  for (const part of pattern.split(sep).filter((name) => name !== '')) {
    found = found.flatMap((directory) => expand(directory, part));
  }
  return found.sort();
}

function expand(directory: string, part: string): string[] {
  if (!/[*?[]/.test(part)) {
    const path = join(directory, part);
    return statSync(path, { throwIfNoEntry: false }) ? [path] : [];
  }
  const matcher = globRegExp(part);
  return listNames(directory)
    .filter((name) => matcher.test(name) && (part.startsWith('.') || !name.startsWith('.')))
    .map((name) => join(directory, name));
}

function listNames(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    // Python's glob skips what it can not list; so does this.
    return [];
  }
}

function globRegExp(part: string): RegExp {
  const body = part.replace(/\[!?[^\]]*\]|[\s\S]/g, (token) => {
    if (token === '*') return '.*';
    if (token === '?') return '.';
    if (token.length > 1) return token.replace(/^\[!/, '[^').replaceAll('\\', '\\\\');
    return token.replace(/[.*+?^${}()|[\]\\/]/, '\\$&');
  });
  return new RegExp(`^${body}$`, 's');
}

function emptyMap(): Record<string, ConfigValue> {
  return Object.create(null) as Record<string, ConfigValue>;
}
