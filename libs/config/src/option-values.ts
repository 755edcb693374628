import type { SaltValue } from '@brine/wire';
import type { ConfigMap, ConfigValue } from './option.ts';

/** The texts of a list; a text alone is a list of one. */
export function textsOf(value: ConfigValue | undefined): string[] {
  if (typeof value === 'string') return [value];
  if (!isList(value)) return [];
  return value.filter((entry) => typeof entry === 'string');
}

/** An option's value as it travels to a minion. */
export function saltValue(value: ConfigValue): SaltValue {
  if (isList(value)) return value.map(saltValue);
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value;
  const entries = Object.entries(value as ConfigMap);
  return new Map(entries.map(([key, kept]): [SaltValue, SaltValue] => [key, saltValue(kept)]));
}

/** Nodegroups; list items become texts. */
export function nodegroupsOf(
  configured: Readonly<Record<string, ConfigValue>>,
): Record<string, string | readonly string[]> {
  return Object.fromEntries(
    Object.entries(configured).map(([name, words]) => [
      name,
      typeof words === 'string' ? words : textsOf(words),
    ]),
  );
}

function isList(value: ConfigValue | undefined): value is readonly ConfigValue[] {
  return Array.isArray(value);
}
