import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Acl, mayRead, partJudge } from '@brine/acl';
import { WorkError } from '@brine/target';
import { mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { callTheRoll } from '../clear/cluster-state.ts';
import { expectedMinions, pillarTermsOf } from '../clear/expected-minions.ts';
import type { MasterPorts } from '../ports/ports.ts';
import type { Read } from './job-reads.ts';
import type { JobReader } from './job-sight.ts';

/** Reads of the master itself, by name. */
export const SITE_READS: readonly (readonly [string, Read])[] = [
  ['services', services],
  ['nodegroups', nodegroups],
];

/** The reports of all services, as the query `roll` has them. */
async function services(ports: MasterPorts, { rights }: JobReader): Promise<SaltValue> {
  return mayRead(rights, { kind: 'services' }) ? callTheRoll(ports) : null;
}

/** Nodegroups of one page: each is compared with the whole fleet. */
const GROUPS_MAX = 50;
/** A nodegroup as the one term of a target. */
const GROUP = /^N@(\S+)$/;

/**
 * `{after?, limit?}` → `{groups: [{name, expression, count}], next}`, by name. A caller without
 * the right to the options gets the groups that its rights have as a target, without expressions.
 * Counts are of the minions that the caller sees; null for a group that takes too much work.
 */
async function nodegroups(
  ports: MasterPorts,
  { rights }: JobReader,
  args: SaltMap,
): Promise<SaltValue> {
  const defined = ports.rules.nodegroups;
  const seesAll = mayRead(rights, { kind: 'config' });
  const names = seesAll ? Object.keys(defined) : groupsIn(rights.acl ?? []);
  const after = textOf(args, 'after') ?? '';
  const asked = Number(args.get('limit') ?? GROUPS_MAX);
  const limit = Math.min(Math.max(asked, 1), GROUPS_MAX);
  const left = names.filter((name) => name > after && Object.hasOwn(defined, name)).sort();
  const page = left.slice(0, limit);
  const groups: SaltMap[] = [];
  for (const name of page) {
    const expression = seesAll ? [defined[name] ?? ''].flat().join(' ') : null;
    groups.push(mapOf({ name, expression, count: await countOf(ports, rights, name) }));
    // Other requests are answered in between.
    await nextTurn();
  }
  return mapOf({ groups, next: left.length > limit ? page.at(-1) : null });
}

/** The groups that are targets of rights. */
function groupsIn(acl: Acl): string[] {
  const names = acl.flatMap((entry) => {
    const name = entry.kind === 'on' ? GROUP.exec(entry.target)?.[1] : undefined;
    return name === undefined ? [] : [name];
  });
  return [...new Set(names)];
}

async function countOf(
  ports: MasterPorts,
  rights: JobReader['rights'],
  tgt: string,
): Promise<number | null> {
  const target = { tgt, tgtType: 'nodegroup', kwargs: mapOf({}) };
  try {
    const { minions } = await expectedMinions(ports, target);
    // That a pillar puts a minion into a group is for those who may read that pillar.
    const byPillar = pillarTermsOf(ports, target).terms.length > 0;
    if (!byPillar && mayRead(rights, { kind: 'keys' })) return minions.length;
    return minions.filter(partJudge(rights, byPillar ? 'pillar' : 'minion')).length;
  } catch (error) {
    if (!(error instanceof WorkError)) throw error;
    ports.count('nodegroup_too_large');
    return null;
  }
}
