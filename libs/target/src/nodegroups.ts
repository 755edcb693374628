/** Definitions of nodegroups: text or a list of words, by name. */
export type Nodegroups = Readonly<Record<string, unknown>> | ReadonlyMap<string, unknown>;

/** The words that join terms of a compound expression. */
export const OPERATORS: ReadonlySet<string> = new Set(['and', 'or', 'not', '(', ')']);

// Groups that name groups that name groups grow fast.
const MAX_WORDS = 100_000;

/**
 * The words of a nodegroup, nested groups put in their place, loops cut
 * (Salt: salt/utils/minions.py nodegroup_comp). Empty for an unknown group.
 */
export function expandNodegroup(name: string, groups: Nodegroups): string[] {
  const words = expand(name, groups, new Set(), true);
  return words.length > MAX_WORDS ? [] : words;
}

function expand(
  name: string,
  groups: Nodegroups,
  above: ReadonlySet<string>,
  first: boolean,
): string[] {
  const words = above.has(name) ? undefined : definitionOf(name, groups);
  if (words === undefined) return [];
  const inside = new Set(above).add(name);
  const expanded: string[] = [];
  let nested = false;
  for (const word of words) {
    if (expanded.length > MAX_WORDS) return expanded;
    if (word.length >= 3 && word.startsWith('N@')) {
      nested = true;
      for (const one of expand(word.slice(2), groups, inside, false)) expanded.push(one);
    } else {
      expanded.push(word);
    }
  }
  if (!first) return plainNames(words) ?? wrapped(expanded);
  return nested ? wrapped(expanded) : (plainNames(words) ?? words);
}

function definitionOf(name: string, groups: Nodegroups): string[] | undefined {
  const definition =
    groups instanceof Map
      ? (groups as ReadonlyMap<string, unknown>).get(name)
      : Object.hasOwn(groups, name)
        ? (groups as Readonly<Record<string, unknown>>)[name]
        : undefined;
  if (typeof definition === 'string') return definition.split(/\s+/).filter((word) => word !== '');
  return Array.isArray(definition) ? definition.map(String) : undefined;
}

function wrapped(words: readonly string[]): string[] {
  return words.length === 0 ? [] : ['(', ...words, ')'];
}

/** Words without operators, stars and `X@` are a list of names, or one regular expression. */
function plainNames(words: readonly string[]): string[] | undefined {
  if (words.some((word) => OPERATORS.has(word))) return undefined;
  if (words.some((word) => word.includes('*') || /^[A-Z]@/.test(word))) return undefined;
  const regex = words.some((word) => /[([{\\?}\])]/.test(word));
  return [`${regex ? 'E' : 'L'}@${words.join(',')}`];
}
