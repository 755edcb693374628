import { statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { ConfigWarning } from './errors.ts';
import { readSources, type Sources } from './files/include.ts';
import { refuseMoved } from './moved-options.ts';
import type { OptionTable, OptionValues } from './option.ts';
import { saltOptions } from './salt-names.ts';
import { resolveSdb, type SdbValues } from './sdb.ts';
import { type Origin, readTable } from './table.ts';

/** Environment variables, as in process.env. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Where a configuration is read from. */
export interface ConfigLocation {
  /** Directory of the file `master` or `minion`; overrides the environment. */
  readonly configDir?: string | undefined;
  /** The file itself; overrides `configDir`. */
  readonly file?: string | undefined;
  /** `process.env` when absent. */
  readonly env?: Environment | undefined;
}

/** The file a location means, and the directory it is in. */
export interface ConfigPlace {
  readonly file: string;
  readonly configDir: string;
}

/**
 * Finds the file: by `location`, then by `SALT_<ROLE>_CONFIG` (a file), `BRINE_CONFIG_DIR`,
 * `SALT_CONFIG_DIR`, and at last in `/etc/salt`.
 */
export function findConfig(role: 'master' | 'minion', location: ConfigLocation): ConfigPlace {
  const env = location.env ?? process.env;
  if (location.file !== undefined) return placeOf(location.file);
  if (location.configDir !== undefined) return placeOf(join(location.configDir, role));
  const named = env[`SALT_${role.toUpperCase()}_CONFIG`];
  if (named) return placeOf(named);
  return placeOf(join(env['BRINE_CONFIG_DIR'] || env['SALT_CONFIG_DIR'] || '/etc/salt', role));
}

function placeOf(path: string): ConfigPlace {
  const file = resolve(path);
  return { file, configDir: dirname(file) };
}

/** The values that were read, before others are derived from them. */
export interface LoadedTable<T> {
  readonly values: OptionValues<T>;
  readonly sources: Sources;
  readonly warnings: ConfigWarning[];
  readonly originOf: (path: string) => Origin;
  readonly sdb: SdbValues;
}

/**
 * Reads a file and its includes into the values of a table. The caller warns of `judgedNames`. Only
 * a master's addresses of sdb are resolved. Throws ConfigError.
 */
export function loadTable<T extends OptionTable>(
  table: T,
  place: ConfigPlace,
  defaultInclude: string,
  env: Environment,
  judgedNames?: ReadonlySet<string>,
): LoadedTable<T> {
  const isMaster = judgedNames !== undefined;
  const warnings: ConfigWarning[] = [];
  const warn = (warning: ConfigWarning): void => void warnings.push(warning);
  warnOfMissingDirectory(place, warn);
  const read = readSources(place.file, defaultInclude, warn);
  const originOf = (path: string): Origin => findOrigin(read, place.file, path);
  const { file } = place;
  const { values: resolved, sdb } = isMaster
    ? resolveSdb({ values: read.values, file, env, originOf })
    : { values: read.values, sdb: {} };
  const sources = { ...read, values: resolved };
  refuseMoved(sources.values, env, originOf);
  const context = {
    env,
    originOf,
    saltNames: saltOptions(),
    warn,
    judgedNames: judgedNames ?? new Set<string>(),
  };
  const values = readTable(table, sources.values, context);
  return { values, sources, warnings, originOf, sdb };
}

function warnOfMissingDirectory(
  { configDir, file }: ConfigPlace,
  warn: (warning: ConfigWarning) => void,
): void {
  if (statSync(configDir, { throwIfNoEntry: false })?.isDirectory()) return;
  // The text of salt/utils/parsers.py ConfigDirMixIn.
  const text = `WARNING: CONFIG '${configDir}' directory does not exist.`;
  warn({ kind: 'missing', text, file, line: 0 });
}

/** The last file with the key wins, so errors name it. */
function findOrigin(sources: Sources, main: string, path: string): Origin {
  for (const parsed of sources.files.toReversed()) {
    const line = parsed.lines.get(path);
    if (line !== undefined) return { file: parsed.file, line };
  }
  return { file: main, line: 0 };
}
