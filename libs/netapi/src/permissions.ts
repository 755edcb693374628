import { isMap, type SaltValue } from '@brine/wire';
import { fromJson, pyRepr } from '@brine/wire/text';

/** The log-in whose rights are shown. */
export interface PermissionsOf {
  readonly name: string;
  readonly eauth: string;
  readonly groups: readonly string[];
}

/**
 * The rights that a log-in shows: those of the name, of `*`, and of the groups; texts sorted, then
 * the others by their repr, each once (salt/netapi/__init__.py sum_permissions,
 * sorted_permissions). Unlike there, the configured lists do not grow with each log-in. Undefined
 * without any right.
 * @param externalAuth the option `external_auth`
 */
export function permissionsOf(
  externalAuth: Readonly<Record<string, unknown>>,
  { name, eauth, groups }: PermissionsOf,
): readonly SaltValue[] | undefined {
  const rules = Object.hasOwn(externalAuth, eauth) ? externalAuth[eauth] : undefined;
  if (typeof rules !== 'object' || rules === null) return undefined;
  const named = [name, '*', ...groups.map((group) => `${group}%`)];
  const all = named.flatMap((one) => {
    const list = Object.hasOwn(rules, one) ? (rules as Record<string, unknown>)[one] : undefined;
    return Array.isArray(list) ? list.map((entry) => fromJson(entry)) : [];
  });
  const texts = new Set(all.filter((entry) => typeof entry === 'string'));
  const others = new Map(
    all.filter((entry) => isMap(entry) || Array.isArray(entry)).map((one) => [pyRepr(one), one]),
  );
  const sorted = [...others].sort(([one], [other]) => (one < other ? -1 : 1));
  const found = [...[...texts].sort(), ...sorted.map(([, entry]) => entry)];
  return found.length === 0 ? undefined : found;
}
