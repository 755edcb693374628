import { compileGlob, compilePcre, compilePcreWhole } from '@brine/target';

/**
 * True if a rule's function expression matches the start of a name (Salt: CkMinions.match_check,
 * `re.match`). Other types and invalid expressions match nothing.
 */
export function matchesFunction(expression: string, fun: string): boolean {
  return compilePcre(expression)(fun);
}

/**
 * True if a key of `publisher_acl` matches a name: a glob, or an expression for the whole name
 * (Salt: salt/utils/stringutils.py expr_match).
 */
export function matchesName(expression: string, name: string): boolean {
  return compileGlob(expression)(name) || compilePcreWhole(expression)(name);
}

/**
 * As {@link matchesName}, for refusals. Salt's anchors apply to the outer alternatives only
 * (`\Aa|b\Z`), which matches more; refusing more is safe.
 */
export function matchesRefused(expression: string, name: string): boolean {
  return compileGlob(expression)(name) || compilePcre(`\\A${expression}\\Z`)(name);
}
