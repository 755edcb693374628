import { checkMinions } from '@brine/target';
import { isMap, type SaltMap, type SaltValue } from '@brine/wire';
import { isTruthy, typeName } from '@brine/wire/text';
import { callArguments } from './call-arguments.ts';
import type { ExternalMinion, ExternalSettings } from './source-settings.ts';

/**
 * The names of the node groups of a minion, below `pillar_name` (Salt: salt/pillar/nodegroups.py).
 * A group with a broken expression has no members.
 * @throws TypeError for unknown arguments, WorkError for a group that takes too much work
 */
export function readNodegroups(
  { id, grains }: ExternalMinion,
  args: SaltValue,
  { nodegroups, pillar }: Pick<ExternalSettings, 'nodegroups' | 'pillar'>,
): SaltMap {
  const given = callArguments(args, [], ['pillar_name']).get('pillar_name') ?? null;
  const name = isTruthy(given) ? given : 'nodegroups';
  if (isMap(name) || Array.isArray(name)) {
    throw new TypeError(`unhashable type: '${typeName(name)}'`);
  }
  const view = {
    accepted: new Set([id]),
    grains: () => grains,
    pillar: () => pillar,
    nodegroups,
    cacheless: 'keep',
  } as const;
  const groups: (readonly [string, unknown])[] =
    nodegroups instanceof Map
      ? [...(nodegroups as ReadonlyMap<string, unknown>)]
      : Object.entries(nodegroups);
  // Like Salt, by the definition and not by the name: a list of plain names is a target here.
  const own = groups.filter(([, tgt]) => {
    return checkMinions({ tgt, tgtType: 'compound' }, view).minions.includes(id);
  });
  return new Map([[name, own.map(([group]) => group)]]);
}
