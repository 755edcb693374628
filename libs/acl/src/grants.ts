import { matchesName, matchesRefused } from './expressions.ts';
import { type Acl, itemsOf, membersOf, readAcl } from './rules.ts';

/**
 * The rights of a logged-in user under one module of `external_auth` (Salt:
 * CkMinions.fill_auth_list). These are the rights of the name and of its groups (`group%`). Those
 * of `*` count if no entry has the name.
 *
 * Salt matches the key against the user's own name as an expression: a user named `adm.n` gets the
 * rights of `admin` there. Here a name is a name.
 * @param permissive `permissive_acl`: `*` is skipped, as in Salt's code
 */
export function grantedTo(
  provider: unknown,
  name: string,
  groups: readonly string[],
  permissive: boolean,
): Acl {
  return readAcl(grantedEntries(provider, name, groups, permissive));
}

/** As {@link grantedTo}, with the entries unchanged, for a token that keeps them. */
export function grantedEntries(
  provider: unknown,
  name: string,
  groups: readonly string[],
  permissive: boolean,
): readonly unknown[] {
  const rights = membersOf(provider) ?? new Map<string, unknown>();
  const granted: unknown[] = [];
  for (const [key, value] of rights) {
    // `^filename` and the like are settings of the module.
    if (key === '*' || key.startsWith('^')) continue;
    const meant = key.endsWith('%') ? groups.includes(key.replace(/%+$/, '')) : key === name;
    if (meant) granted.push(...itemsOf(value));
  }
  const named = rights.has(name) && name !== '*' && !/^\^|%$/.test(name);
  if (!permissive && !named) granted.push(...itemsOf(rights.get('*')));
  return granted;
}

/**
 * The rights of a user of the host by `publisher_acl`; empty if no entry has the name (Salt:
 * salt/utils/master.py get_values_of_matching_keys).
 */
export function publisherAcl(rights: unknown, user: string): Acl {
  return [...(membersOf(rights) ?? [])].flatMap(([key, value]) =>
    matchesName(key, user) ? readAcl(value) : [],
  );
}

/** `publisher_acl_blacklist`. */
export interface Blacklist {
  readonly users: readonly string[];
  readonly modules: readonly string[];
}

/** True if users or functions are refused despite any rights (Salt: salt/acl). */
export function isBlacklisted(
  { users, modules }: Blacklist,
  names: readonly string[],
  funs: readonly string[],
): boolean {
  return (
    names.some((name) => users.some((expression) => matchesRefused(expression, name))) ||
    funs.some((fun) => modules.some((expression) => matchesRefused(expression, fun)))
  );
}
