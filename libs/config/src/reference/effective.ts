import { optionsByName } from '../by-name.ts';
import type { Environment } from '../load.ts';
import { type ConfigLocation } from '../load.ts';
import { readMasterConfig } from '../master.ts';
import { camelCase, type ConfigMap, isConfigMap } from '../option.ts';
import { masterOptions } from '../options/master.ts';
import { maskSecrets, maskValues, secretsIn } from './mask.ts';
import { optionsIn } from './reference.ts';

/** Where a value comes from. */
export type ValueSource =
  | { readonly kind: 'default' }
  | { readonly kind: 'file'; readonly file: string; readonly line: number }
  | { readonly kind: 'environment'; readonly variable: string };

/** An option as it is in force. */
export interface EffectiveOption {
  readonly name: string;
  /** The value with secrets masked; paths include `root_dir`. */
  readonly value: unknown;
  readonly source: ValueSource;
}

/**
 * The master's options as they are in force, by the names they have in the file.
 * Throws ConfigError as loadMasterConfig does.
 */
export function effectiveOptions(location: ConfigLocation = {}): EffectiveOption[] {
  const env = location.env ?? process.env;
  const { options, sources, originOf, sdb = {} } = readMasterConfig(location);
  return optionsIn(masterOptions).map(([name, option]) => {
    const value = maskSecrets(name, maskValues(valueAt(options, name), Object.values(sdb)));
    const variable = option.env;
    if (variable !== undefined && isSetIn(env, variable)) {
      return { name, value, source: { kind: 'environment', variable } };
    }
    if (!isGiven(sources.values, name)) return { name, value, source: { kind: 'default' } };
    return { name, value, source: { kind: 'file', ...originOf(name) } };
  });
}

/** A secret value of the configuration, and its option. */
export interface KnownSecret {
  readonly option: string;
  readonly value: string;
}

/**
 * All secret values of files, environment and sdb addresses, also of options that Brine does not
 * know. Throws ConfigError as loadMasterConfig does.
 */
export function knownSecrets(location: ConfigLocation = {}): KnownSecret[] {
  const { options, sdb = {} } = readMasterConfig(location);
  const named: (readonly [string, readonly string[]])[] = [
    ...Object.entries(options.written).map(
      ([name, value]) => [name, secretsIn(name, value)] as const,
    ),
    ...[...optionsByName(options)].flatMap(([name, value]) =>
      typeof name === 'string' ? [[name, secretsIn(name, value)] as const] : [],
    ),
    ...Object.entries(sdb).map(
      ([address, value]) => [address, secretsIn('secret', value)] as const,
    ),
  ];
  const found = new Map<string, KnownSecret>();
  for (const [option, values] of named) {
    for (const value of values) if (!found.has(value)) found.set(value, { option, value });
  }
  return [...found.values()];
}

function isSetIn(env: Environment, variable: string): boolean {
  const value = env[variable];
  return value !== undefined && value !== '';
}

/** The value that a service uses. Names of Salt may have dots (`auth.ldap.uri`). */
function valueAt(options: object, name: string): unknown {
  const whole = camelCase(name);
  if (Object.hasOwn(options, whole)) return (options as Record<string, unknown>)[whole];
  let found: unknown = options;
  for (const part of name.split('.')) {
    if (typeof found !== 'object' || found === null) return undefined;
    found = (found as Record<string, unknown>)[camelCase(part)];
  }
  return found;
}

/** True if a file sets the option; an empty value leaves the default. */
function isGiven(values: ConfigMap, name: string): boolean {
  if (Object.hasOwn(values, name)) return values[name] !== null;
  let found: unknown = values;
  for (const part of name.split('.')) {
    const map = found as ConfigMap;
    if (!isConfigMap(map) || !Object.hasOwn(map, part)) return false;
    found = map[part];
  }
  return found !== null;
}
