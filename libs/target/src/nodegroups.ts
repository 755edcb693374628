import { Work } from './work.ts';

/** Definitions of nodegroups: text or a list of words, by name. */
export type Nodegroups = Readonly<Record<string, unknown>> | ReadonlyMap<string, unknown>;

/** The words that join terms of a compound expression. */
export const OPERATORS: ReadonlySet<string> = new Set(['and', 'or', 'not', '(', ')']);

/** The work of inserting a word, in steps. */
const STEPS_PER_WORD = 20;

/**
 * The words of a nodegroup with nested groups inserted and loops cut (Salt: salt/utils/minions.py
 * nodegroup_comp). Empty for an unknown group.
 * @throws WorkError where nested groups grow too large
 */
export function expandNodegroup(
  name: string,
  groups: Nodegroups,
  work = Work.ofTarget(1),
): string[] {
  return expand(name, { groups, above: new Set(), work });
}

/**
 * Inserts the words of nodegroups into a compound expression, so that minions need not know them
 * (Salt: salt/client/__init__.py _prep_pub). Undefined if a group is not configured.
 * @throws WorkError as {@link expandNodegroup}
 */
export function withoutNodegroups(
  words: readonly string[],
  groups: Nodegroups,
  work = Work.ofTarget(1),
): string[] | undefined {
  const expanded: string[] = [];
  for (const word of words) {
    if (word.length < 3 || !word.startsWith('N@')) {
      expanded.push(word);
      continue;
    }
    const name = word.slice(2);
    if (definitionOf(name, groups) === undefined) return undefined;
    for (const one of expand(name, { groups, above: new Set(), work })) expanded.push(one);
  }
  return expanded;
}

interface Expansion {
  readonly groups: Nodegroups;
  /** The groups that contain this one. */
  readonly above: Set<string>;
  readonly work: Work;
}

function expand(name: string, { groups, above, work }: Expansion): string[] {
  const words = above.has(name) ? undefined : definitionOf(name, groups);
  work.spend(STEPS_PER_WORD * (1 + (words?.length ?? 0)));
  if (words === undefined) return [];
  above.add(name);
  const expanded: string[] = [];
  let nested = false;
  for (const word of words) {
    if (word.length >= 3 && word.startsWith('N@')) {
      nested = true;
      const within = expand(word.slice(2), { groups, above, work });
      work.spend(within.length);
      for (const one of within) expanded.push(one);
    } else {
      expanded.push(word);
    }
  }
  above.delete(name);
  if (above.size > 0) return plainNames(words) ?? wrapped(expanded);
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
