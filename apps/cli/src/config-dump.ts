import { displayOf } from '@brine/client';
import type { MasterOptions } from '@brine/config';
import type { SaltMap, SaltValue } from '@brine/wire';

/** `--config-dump`: the options as YAML, by the names they have in the file. */
export function dumpConfig(config: MasterOptions): string {
  return `${displayOf(toSalt(config), 'yaml', { color: false }).text}\n`;
}

function toSalt(value: unknown): SaltValue {
  if (value === undefined || value === null) return null;
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') {
    return value;
  }
  if (value instanceof Uint8Array) return value;
  if (Array.isArray(value)) return value.map(toSalt);
  // Options hold plain data only.
  if (typeof value !== 'object') return null;
  const map: SaltMap = new Map();
  for (const [name, item] of Object.entries(value)) {
    map.set(
      name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      toSalt(item),
    );
  }
  return map;
}
