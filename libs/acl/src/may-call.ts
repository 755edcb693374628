import { isMap, listOf, mapIn, type SaltValue } from '@brine/wire';
import { allowsCall } from './may-publish.ts';
import type { Acl } from './rules.ts';

/** What of the master's own functions is called. */
export type SpecialKind = 'runner' | 'wheel';

/**
 * Whether a list of rights covers a function of the master itself (Salt: CkMinions.spec_check):
 * `@<module>`, `@runner` or `@runners`, alone or with functions and arguments. `given` is the
 * load's `kwarg`, with `arg` and `kwarg` in it. `misspelt` where the name is not two words.
 */
export function mayCall(
  acl: Acl,
  fun: string,
  given: SaltValue | undefined,
  kind: SpecialKind,
): boolean | 'misspelt' {
  if (acl.length === 0) return false;
  const [module, name, ...more] = fun.split('.');
  if (module === undefined || name === undefined || more.length > 0) return 'misspelt';
  const call = given !== undefined && isMap(given) ? given : undefined;
  const args = call && listOf(call, 'arg');
  const kwargs = call && mapIn(call, 'kwarg');
  const ofModule = (word: string): boolean => word === `@${module}`;
  const ofKind = (word: string): boolean => word === `@${kind}` || word === `@${kind}s`;
  return acl.some((entry) => {
    if (entry.kind === 'everywhere') return ofModule(entry.expression) || ofKind(entry.expression);
    const { target, rules } = entry;
    if (ofModule(target) && allowsCall(rules, name, args, kwargs)) return true;
    return ofKind(target) && allowsCall(rules, fun, args, kwargs);
  });
}
