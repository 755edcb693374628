import { mapOf, type SaltValue } from '@brine/wire';

/** Required values of arguments; null stands for any value. */
export interface ArgumentRule {
  readonly args: readonly (string | null)[];
  readonly kwargs: ReadonlyMap<string, string | null>;
}

/** A function expression, and the limits of its arguments, if any. */
export interface FunctionRule {
  readonly fun: string;
  /** Any of these must allow the arguments; without rules all arguments are allowed. */
  readonly arguments?: readonly ArgumentRule[];
}

/** An entry of a list of rights. */
export type AclEntry =
  /** Functions on all minions, or `@runner` and the like. */
  | { readonly kind: 'everywhere'; readonly expression: string }
  /** Functions on the minions of a compound target, or of `@runner` and the like. */
  | { readonly kind: 'on'; readonly target: string; readonly rules: readonly FunctionRule[] };

/** The rights of a caller. */
export type Acl = readonly AclEntry[];

/**
 * Reads a list of rights from `publisher_acl`, `external_auth`, `peer`, or from a token, in plain
 * objects and maps alike. Entries that Salt would skip give no right.
 */
export function readAcl(value: unknown): Acl {
  return itemsOf(value).flatMap((item): AclEntry[] => {
    if (typeof item === 'string') {
      return item === '' ? [] : [{ kind: 'everywhere', expression: item }];
    }
    const only = onlyMember(item);
    if (only === undefined || only[0] === '') return [];
    return [{ kind: 'on', target: only[0], rules: itemsOf(only[1]).flatMap(readFunctionRule) }];
  });
}

function readFunctionRule(value: unknown): FunctionRule[] {
  if (typeof value === 'string') return [{ fun: value }];
  const only = onlyMember(value);
  if (only === undefined) return [];
  return [{ fun: only[0], arguments: itemsOf(only[1]).flatMap(readArgumentRule) }];
}

/** A rule that Salt could not read (a text for a list, a number for a pattern) allows nothing. */
function readArgumentRule(value: unknown): ArgumentRule[] {
  const members = membersOf(value);
  if (members === undefined) return [];
  const args = members.get('args') ?? [];
  const kwargs = membersOf(members.get('kwargs') ?? {});
  if (!Array.isArray(args) || kwargs === undefined) return [];
  const patterns: unknown[] = [...(args as unknown[]), ...kwargs.values()];
  if (!patterns.every((pattern) => pattern === null || typeof pattern === 'string')) return [];
  return [{ args: args as (string | null)[], kwargs: kwargs as Map<string, string | null> }];
}

/** A single value stands for a list of it. */
export function itemsOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value as unknown[];
  return value === undefined || value === null ? [] : [value];
}

function onlyMember(value: unknown): readonly [string, unknown] | undefined {
  const members = membersOf(value);
  return members?.size === 1 ? [...members][0] : undefined;
}

/** The members of a map with text keys; undefined for other values. */
export function membersOf(value: unknown): ReadonlyMap<string, unknown> | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const entries: [unknown, unknown][] = value instanceof Map ? [...value] : Object.entries(value);
  if (!entries.every((entry): entry is [string, unknown] => typeof entry[0] === 'string')) {
    return undefined;
  }
  return new Map(entries);
}

/** A list of rights as {@link readAcl} reads it, for another process. */
export function aclValue(acl: Acl): SaltValue[] {
  return acl.map((entry) =>
    entry.kind === 'everywhere'
      ? entry.expression
      : mapOf({ [entry.target]: entry.rules.map(ruleValue) }),
  );
}

function ruleValue(rule: FunctionRule): SaltValue {
  if (rule.arguments === undefined) return rule.fun;
  const limits = rule.arguments.map(({ args, kwargs }) =>
    mapOf({ args: [...args], kwargs: new Map(kwargs) }),
  );
  return mapOf({ [rule.fun]: limits });
}
