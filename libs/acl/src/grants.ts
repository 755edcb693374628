import { matchesName, matchesRefused } from './expressions.ts';
import { type Acl, itemsOf, membersOf, readAcl } from './rules.ts';

/**
 * What a logged-in user may do by the rights under one module of `external_auth` (Salt:
 * CkMinions.fill_auth_list). These are the rights of the name and of its groups (`group%`). Those
 * of `*` count if no entry has the name.
 *
 * Salt takes the user's own name for an expression and the key for the text: a user named `adm.n`
 * gets what `admin` may there. Here a name is a name.
 * @param permissive `permissive_acl`: `*` is passed over, as Salt's code has it.
 */
export function grantedTo(
  provider: unknown,
  name: string,
  groups: readonly string[],
  permissive: boolean,
): Acl {
  return readAcl(grantedEntries(provider, name, groups, permissive));
}

/** As {@link grantedTo}, the entries as they stand there: for a token that is to keep them. */
export function grantedEntries(
  provider: unknown,
  name: string,
  groups: readonly string[],
  permissive: boolean,
): readonly unknown[] {
  const rights = membersOf(provider) ?? new Map<string, unknown>();
  const granted: unknown[] = [];
  for (const [key, value] of rights) {
    // `^filename` and its like are settings of the module.
    if (key === '*' || key.startsWith('^')) continue;
    const meant = key.endsWith('%') ? groups.includes(key.replace(/%+$/, '')) : key === name;
    if (meant) granted.push(...itemsOf(value));
  }
  const named = rights.has(name) && name !== '*' && !/^\^|%$/.test(name);
  if (!permissive && !named) granted.push(...itemsOf(rights.get('*')));
  return granted;
}

/**
 * What `publisher_acl` gives to a user of the host; empty if no entry has the name (Salt:
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

/** Whether users or functions are refused whatever rights they have (Salt: salt/acl). */
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
