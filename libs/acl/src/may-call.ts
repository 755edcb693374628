import type { SaltMap, SaltValue } from '@brine/wire';
import { allowsCall } from './may-publish.ts';
import type { Acl } from './rules.ts';

/** The kinds of the master's own functions. */
export type SpecialKind = 'runner' | 'wheel';

/** A call of a function of the master itself, as it runs. */
export interface SpecialCall {
  readonly kind: SpecialKind;
  readonly fun: string;
  readonly args: readonly SaltValue[];
  readonly kwargs: SaltMap;
}

/**
 * True if a list of rights covers a function of the master itself (Salt: CkMinions.spec_check):
 * `@<module>`, `@runner` or `@runners`, alone or with functions and arguments. Salt judges a load
 * and may then run another part of it. Here the very call that runs is judged. `misspelt` if the
 * name does not have two parts.
 */
export function mayCall(acl: Acl, call: SpecialCall): boolean | 'misspelt' {
  if (acl.length === 0) return false;
  const { kind, fun, args, kwargs } = call;
  const [module, name, ...more] = fun.split('.');
  if (module === undefined || name === undefined || more.length > 0) return 'misspelt';
  const ofModule = (right: string): boolean => right === `@${module}`;
  const ofKind = (right: string): boolean => right === `@${kind}` || right === `@${kind}s`;
  return acl.some((entry) => {
    if (entry.kind === 'everywhere') return ofModule(entry.expression) || ofKind(entry.expression);
    const { target, rules } = entry;
    if (ofModule(target) && allowsCall(rules, name, args, kwargs)) return true;
    return ofKind(target) && allowsCall(rules, fun, args, kwargs);
  });
}
