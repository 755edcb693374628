import type { SaltMap, SaltValue } from '@brine/wire';
import type { MasterOptions } from './master.ts';
import type { ConfigValue } from './option.ts';
import { saltValue } from './option-values.ts';
import { masterOptions } from './options/master.ts';
import { maskSecrets } from './reference/mask.ts';

/** Fields of a configuration that are no options, or whose names differ from the option's. */
const NO_OPTIONS: ReadonlySet<string> = new Set([
  ...['jobMasterId', 'masterId', 'masterKeyName', 'ownPkiDir', 'written'],
]);

/**
 * The configuration by Salt's names: options in force, then all other values of the files. For
 * `config.get` and `--config-dump`; it contains secrets.
 */
export function optionsByName(options: MasterOptions): SaltMap {
  const found: SaltMap = new Map();
  for (const [field, value] of Object.entries(options)) {
    if (!NO_OPTIONS.has(field)) found.set(saltName(field), toSalt(field, value));
  }
  if (options.jobMasterId !== undefined) found.set('master_id', options.jobMasterId);
  for (const [name, value] of Object.entries(options.written)) {
    if (!Object.hasOwn(masterOptions, name)) found.set(name, saltValue(value));
  }
  return found;
}

/**
 * As {@link optionsByName}, for functions of the master: secrets in Brine's own options, as the
 * password of PostgreSQL, are masked.
 */
export function optionsForFunctions(options: MasterOptions): SaltMap {
  const found = optionsByName(options);
  return found.set('brine', maskSecrets('brine', found.get('brine')) as SaltValue);
}

/** As {@link optionsByName}, for a caller: all secrets are masked, as in `brine config`. */
export function optionsForCallers(options: MasterOptions): SaltMap {
  return new Map(
    [...optionsByName(options)].map(([name, value]) => [
      name,
      typeof name === 'string' ? (maskSecrets(name, value) as SaltValue) : value,
    ]),
  );
}

function saltName(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Names below the first level are data, except in Brine's own options. */
function toSalt(field: string, value: unknown): SaltValue {
  if (value === undefined) return null;
  return field === 'brine' ? brineValue(value) : saltValue(value as ConfigValue);
}

function brineValue(value: unknown): SaltValue {
  if (Array.isArray(value)) return value.map(brineValue);
  if (typeof value !== 'object' || value === null) return value as SaltValue;
  return new Map(
    Object.entries(value).map(([name, item]) => [saltName(name), brineValue(item ?? null)]),
  );
}
