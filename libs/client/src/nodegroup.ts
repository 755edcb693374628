import { NodegroupError } from './errors.ts';

/** `nodegroups` of the configuration: a compound expression as text or as a list of its parts. */
export type Nodegroups = ReadonlyMap<string, string | readonly string[]>;

// A group may name other groups; a chain longer than this is a mistake.
const MAX_DEPTH = 32;

/**
 * Expands `N@name` in a compound expression, so that minions need not know the groups
 * (Salt: salt/client/__init__.py _prep_pub, salt/utils/minions.py nodegroup_comp).
 * @throws NodegroupError for a name that is not configured.
 */
export function expandCompound(
  expression: string | readonly string[],
  nodegroups: Nodegroups,
  configFile: string,
): string {
  const words = typeof expression === 'string' ? splitWords(expression) : expression;
  const expanded = words.flatMap((word) =>
    word.startsWith('N@') && word.length > 2
      ? expandNodegroup(word.slice(2), nodegroups, configFile)
      : [word],
  );
  return expanded.join(' ');
}

/**
 * The parts of a node group, other groups in brackets.
 * @throws NodegroupError for a name that is not configured.
 */
export function expandNodegroup(
  name: string,
  nodegroups: Nodegroups,
  configFile: string,
): string[] {
  if (!nodegroups.has(name)) throw new NodegroupError(name, configFile);
  return expand(name, nodegroups, new Set(), true);
}

const OPERATORS = new Set(['and', 'or', 'not', '(', ')']);

function expand(
  name: string,
  nodegroups: Nodegroups,
  seen: ReadonlySet<string>,
  first: boolean,
): string[] {
  const group = nodegroups.get(name);
  // An unknown group inside a group, or one that contains itself, matches no minion.
  if (group === undefined || seen.has(name) || seen.size >= MAX_DEPTH) return [];
  const words = typeof group === 'string' ? splitWords(group) : group;
  const inner = new Set([...seen, name]);
  let expanded = false;
  const result = words.flatMap((word) => {
    if (!word.startsWith('N@') || word.length < 3) return [word];
    expanded = true;
    return expand(word.slice(2), nodegroups, inner, false);
  });
  if (first && expanded) return result.length > 0 ? ['(', ...result, ')'] : [];
  const joined = joinNames(words);
  if (joined !== undefined) return [joined];
  if (first) return [...words];
  return result.length > 0 ? ['(', ...result, ')'] : [];
}

/**
 * A group of bare names, without operators, globs or letters, is one list
 * (Salt: salt/utils/minions.py _nodegroup_regex).
 */
function joinNames(words: readonly string[]): string | undefined {
  if (words.some((word) => OPERATORS.has(word))) return undefined;
  if (words.some((word) => word.includes('*') || /^[A-Z]@/.test(word))) return undefined;
  return `L@${words.join(',')}`;
}

function splitWords(text: string): string[] {
  return text.split(/\s+/).filter((word) => word !== '');
}
