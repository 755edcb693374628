import { checkMinions, type Nodegroups, type TargetView } from '@brine/target';
import { pyRepr, textOf, type PublishRequest, type SaltValue } from '@brine/wire';
import type { MasterPorts } from '../ports.ts';

/** Whom the master expects to answer, and the ids of a list that it does not know. */
export interface Expected {
  readonly minions: string[];
  readonly missing: string[];
}

/**
 * Target types that are judged by the ids alone; the rest needs what minions told of themselves.
 */
const BY_ID: ReadonlySet<string> = new Set(['glob', 'pcre', 'list']);

/**
 * Whom the master expects to answer (salt/utils/minions.py CkMinions.check_minions). It does not
 * limit who runs the job: each minion judges the target itself.
 */
export async function expectedMinions(
  ports: MasterPorts,
  asked: Pick<PublishRequest, 'tgt' | 'tgtType' | 'kwargs'>,
): Promise<Expected> {
  const accepted = ports.keys.accepted();
  if (!BY_ID.has(asked.tgtType) && !ports.rules.minionDataCache) {
    return { minions: [...accepted], missing: [] };
  }
  const delimiter = asked.kwargs && textOf(asked.kwargs, 'delimiter');
  const target = {
    tgt: asked.tgt,
    tgtType: asked.tgtType,
    ...(delimiter === undefined ? {} : { delimiter }),
  };
  return checkMinions(target, await targetView(ports, asked.tgtType, asked.tgt));
}

/** What targets are judged by: the data of all minions is read where this type asks for it. */
export async function targetView(
  ports: MasterPorts,
  tgtType: string,
  tgt: SaltValue,
): Promise<TargetView> {
  const { rules, minionData, keys, pillars } = ports;
  const byPillar = asksForPillar(tgtType, tgt, rules.nodegroups);
  if (byPillar) await pillars?.ready();
  if (!BY_ID.has(tgtType)) await minionData.ready();
  return {
    accepted: keys.accepted(),
    grains: (id) => minionData.grains(id),
    pillar: (id) => (byPillar ? pillars?.of(id) : undefined),
    nodegroups: rules.nodegroups,
    cacheless: rules.cachelessTargets,
  };
}

/** Tells whether pillars are needed: those of all minions are much to hold. */
function asksForPillar(tgtType: string, tgt: SaltValue, nodegroups: Nodegroups): boolean {
  if (tgtType.startsWith('pillar')) return true;
  if (!tgtType.startsWith('compound') && tgtType !== 'nodegroup') return false;
  const words = pyRepr(tgt);
  // A nodegroup may name others: looked at are all.
  const grouped = tgtType === 'nodegroup' || words.includes('N@');
  const all = grouped ? words + JSON.stringify(nodegroups) : words;
  return /[IJ].?@/.test(all);
}
