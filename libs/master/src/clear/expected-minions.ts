import type { Acl } from '@brine/acl';
import { checkMinions, dataNeeded, type TargetView } from '@brine/target';
import { textOf, type PublishRequest, type SaltValue } from '@brine/wire';
import type { MasterPorts } from '../ports.ts';

/** Whom the master expects to answer, and the ids of a list that it does not know. */
export interface Expected {
  readonly minions: string[];
  readonly missing: string[];
}

/**
 * Whom the master expects to answer (salt/utils/minions.py CkMinions.check_minions). It does not
 * limit who runs the job: each minion judges the target itself.
 */
export async function expectedMinions(
  ports: MasterPorts,
  asked: Pick<PublishRequest, 'tgt' | 'tgtType' | 'kwargs'>,
): Promise<Expected> {
  const delimiter = asked.kwargs && textOf(asked.kwargs, 'delimiter');
  const target = {
    tgt: asked.tgt,
    tgtType: asked.tgtType,
    ...(delimiter === undefined ? {} : { delimiter }),
  };
  return checkMinions(target, await targetView(ports, asked.tgtType, asked.tgt));
}

/** What targets are judged by: of the data of all minions is read what this one asks for. */
export async function targetView(
  ports: MasterPorts,
  tgtType: string,
  tgt: SaltValue,
): Promise<TargetView> {
  const { rules, minionData, keys, pillars } = ports;
  const { nodegroups, cachelessTargets: cacheless, minionDataCache: dataCache } = rules;
  const needed = dataCache ? dataNeeded({ tgt, tgtType }, nodegroups) : 'nothing';
  const byPillar = needed === 'grains and pillar';
  if (byPillar) await pillars?.ready();
  if (needed !== 'nothing') await minionData.ready();
  return {
    accepted: keys.accepted(),
    grains: (id) => (needed === 'nothing' ? undefined : minionData.grains(id)),
    pillar: (id) => (byPillar ? pillars?.of(id) : undefined),
    nodegroups,
    cacheless,
    dataCache,
  };
}

/**
 * Tells for each target of a list of rights who surely is meant by it: a minion of which nothing
 * is known is not, whatever `cacheless_targets` and `minion_data_cache` say of jobs.
 */
export async function surelyMeant(
  ports: MasterPorts,
  acl: Acl,
): Promise<(target: string) => ReadonlySet<string>> {
  const tgtType = 'compound';
  const views = new Map<string, TargetView>();
  for (const entry of acl) {
    if (entry.kind !== 'on') continue;
    views.set(entry.target, await targetView(ports, tgtType, entry.target));
  }
  return (tgt) => {
    const view = views.get(tgt);
    if (view === undefined) return new Set();
    const known = { ...view, cacheless: 'drop', dataCache: true } as const;
    return new Set(checkMinions({ tgt, tgtType }, known).minions);
  };
}
