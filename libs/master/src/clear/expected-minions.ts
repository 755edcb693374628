import type { Acl } from '@brine/acl';
import {
  checkMinions,
  dataNeeded,
  type PillarTerms,
  pillarTerms,
  type Target,
  type TargetView,
} from '@brine/target';
import { type SaltValue, textOf } from '@brine/wire';
import type { PublishRequest } from '@brine/wire/load';
import type { MasterPorts } from '../ports/ports.ts';

/** Whom the master expects to answer, and the ids of a list that it does not know. */
export interface Expected {
  readonly minions: string[];
  readonly missing: string[];
}

/** A target as a caller names it. */
export type AskedTarget = Pick<PublishRequest, 'tgt' | 'tgtType' | 'kwargs'>;

/**
 * Whom the master expects to answer (salt/utils/minions.py CkMinions.check_minions). It does not
 * limit who runs the job: each minion judges the target itself.
 */
export async function expectedMinions(ports: MasterPorts, asked: AskedTarget): Promise<Expected> {
  return checkMinions(targetOf(asked), await targetView(ports, asked.tgtType, asked.tgt));
}

/**
 * Whom a target could mean, whatever the pillars of minions hold, save for the terms that are
 * `spared`. Without such a term no pillar is looked at, so nothing of it shows in the answer, nor
 * in the time that it takes.
 */
export async function couldMean(
  ports: MasterPorts,
  asked: AskedTarget,
  spared: ReadonlySet<string>,
): Promise<readonly string[]> {
  const view = await targetView(ports, asked.tgtType, asked.tgt, spared);
  return checkMinions(targetOf(asked), view).minions;
}

function targetOf({ tgt, tgtType, kwargs }: AskedTarget): Target {
  const delimiter = kwargs && textOf(kwargs, 'delimiter');
  return { tgt, tgtType, ...(delimiter === undefined ? {} : { delimiter }) };
}

/** What of its terms ask what is in a pillar. */
export function pillarTermsOf({ rules }: MasterPorts, asked: AskedTarget): PillarTerms {
  return pillarTerms(targetOf(asked), rules.nodegroups);
}

/** What targets are judged by: of the data of all minions is read what this one asks for. */
export async function targetView(
  ports: MasterPorts,
  tgtType: string,
  tgt: SaltValue,
  whateverPillars?: ReadonlySet<string>,
): Promise<TargetView> {
  const { rules, minionData, keys, pillars } = ports;
  const { nodegroups, cachelessTargets: cacheless, minionDataCache: dataCache } = rules;
  const needed = dataCache ? dataNeeded({ tgt, tgtType }, nodegroups) : 'nothing';
  const open = whateverPillars?.size === 0;
  const byPillar = needed === 'grains and pillar' && !open;
  if (byPillar) await pillars?.ready();
  if (needed !== 'nothing') await minionData.ready();
  return {
    accepted: keys.accepted(),
    grains: (id) => (needed === 'nothing' ? undefined : minionData.grains(id)),
    pillar: (id) => (byPillar ? pillars?.of(id) : undefined),
    nodegroups,
    cacheless,
    dataCache,
    ...(whateverPillars === undefined ? {} : { whateverPillars }),
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
