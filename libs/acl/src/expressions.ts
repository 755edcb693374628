import { compileGlob, compilePcre, compilePcreWhole } from '@brine/target';

/**
 * True where a rule's function expression matches (Salt: CkMinions.match_check, `re.match`): it
 * need not reach the end of the name. What is no text, or no expression, matches nothing.
 */
export function matchesFunction(expression: string, fun: string): boolean {
  return compilePcre(expression)(fun);
}

/**
 * True where a name of `publisher_acl` is meant by its key: a glob, or an expression for the whole
 * name (Salt: salt/utils/stringutils.py expr_match).
 */
export function matchesName(expression: string, name: string): boolean {
  return compileGlob(expression)(name) || compilePcreWhole(expression)(name);
}

/**
 * As {@link matchesName} for what is refused. Salt's anchors apply to the outer alternatives only
 * (`\Aa|b\Z`), which matches more; to refuse more is safe.
 */
export function matchesRefused(expression: string, name: string): boolean {
  return compileGlob(expression)(name) || compilePcre(`\\A${expression}\\Z`)(name);
}
