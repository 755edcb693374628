import { isMap, type SaltValue } from '@brine/wire';
import { pyStr } from '@brine/wire/text';
import { matchesFunction } from './expressions.ts';
import type { Acl, ArgumentRule, FunctionRule } from './rules.ts';

/** The call of a caller; with several functions `arg` has a list for each. */
export interface AskedCall {
  readonly fun: string | readonly string[];
  readonly arg: readonly SaltValue[];
}

/** The minions that the call would reach. */
export interface Reach {
  readonly minions: readonly string[];
  /** The minions of a compound target in the list of rights. */
  matching(target: string): ReadonlySet<string>;
  /**
   * True if the call may also reach minions unknown to this master (a master of masters). Then a
   * target that matches no known minion may still reach some, and no limited entry covers it
   * (CVE-2022-22941).
   */
  readonly beyond: boolean;
}

/**
 * True if a list of rights covers a call (Salt: CkMinions.auth_check). A limited entry counts only
 * if it covers every minion reached. Of several functions each must be allowed, while Salt accepts
 * one. `always` names functions that need no right.
 */
export function mayPublish(
  acl: Acl,
  { fun, arg }: AskedCall,
  reach: Reach,
  always: ReadonlySet<string> = new Set(),
): boolean {
  const calls: readonly (readonly [string, unknown])[] =
    typeof fun === 'string' ? [[fun, arg]] : fun.map((one, at) => [one, arg[at]]);
  if (calls.length === 0) return false;
  const covers = coverage(reach);
  return calls.every(
    ([one, args]) =>
      always.has(one) ||
      acl.some((entry) => {
        if (entry.kind === 'everywhere') return matchesFunction(entry.expression, one);
        return allows(entry.rules, one, args) && covers(entry.target);
      }),
  );
}

/** Judges each target once per call: a compound target reads the grains of all minions. */
function coverage(reach: Reach): (target: string) => boolean {
  const known = new Map<string, boolean>();
  return (target) => {
    const found = known.get(target) ?? covers(target, reach);
    known.set(target, found);
    return found;
  };
}

function covers(target: string, reach: Reach): boolean {
  if (target === '*') return true;
  // `@runner` and the like are no minions.
  if (target.startsWith('@')) return false;
  if (reach.minions.length === 0) return !reach.beyond;
  const allowed = reach.matching(target);
  return reach.minions.every((id) => allowed.has(id));
}

function allows(rules: readonly FunctionRule[], fun: string, given: unknown): boolean {
  if (!Array.isArray(given)) return false;
  const { args, kwargs } = asTheMinionTakes(given as readonly SaltValue[]);
  return allowsCall(rules, fun, args, kwargs);
}

/** `name=value` (Salt: salt/utils/args.py KWARG_REGEX). */
const KEYWORD = /^([\p{L}\p{Nl}\p{No}_][\p{L}\p{N}_.-]*)=(?!=).*\n?$/u;

/**
 * Separates keywords from positions as a minion does (salt/minion.py load_args_and_kwargs): maps
 * with a true `__kwarg__`, at any position, and texts `name=value`. Salt judges only a map at the
 * end, so that an argument could take another's place. The minion decides the meaning of such a
 * text: no rule about that keyword allows it.
 */
function asTheMinionTakes(given: readonly SaltValue[]): {
  readonly args: readonly SaltValue[];
  readonly kwargs: ReadonlyMap<SaltValue, SaltValue | undefined>;
} {
  const args: SaltValue[] = [];
  const kwargs = new Map<SaltValue, SaltValue | undefined>();
  for (const one of given) {
    const name = typeof one === 'string' ? KEYWORD.exec(one)?.[1] : undefined;
    if (name !== undefined) kwargs.set(name, undefined);
    else if (!isMap(one) || one.get('__kwarg__') !== true) args.push(one);
    else for (const [key, value] of one) kwargs.set(key, value);
  }
  return { args, kwargs };
}

/** True if one of the rules allows a function with these arguments (Salt: `__fun_check`). */
export function allowsCall(
  rules: readonly FunctionRule[],
  fun: string,
  args: readonly SaltValue[],
  kwargs: ReadonlyMap<SaltValue, SaltValue | undefined>,
): boolean {
  return rules.some(
    (rule) =>
      matchesFunction(rule.fun, fun) &&
      (rule.arguments === undefined || rule.arguments.some((one) => permits(one, args, kwargs))),
  );
}

function permits(
  rule: ArgumentRule,
  args: readonly SaltValue[],
  kwargs: ReadonlyMap<SaltValue, SaltValue | undefined>,
): boolean {
  const fits = (pattern: string | null, value: SaltValue | undefined): boolean =>
    value !== undefined && (pattern === null || matchesFunction(pattern, pyStr(value)));
  return (
    rule.args.every((pattern, at) => fits(pattern, args[at])) &&
    [...rule.kwargs].every(([name, pattern]) => fits(pattern, kwargs.get(name)))
  );
}
