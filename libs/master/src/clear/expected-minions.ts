import { checkMinions } from '@brine/target';
import { textOf, type PublishRequest } from '@brine/wire';
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
  const { rules, minionData, keys } = ports;
  const accepted = keys.accepted();
  if (!BY_ID.has(asked.tgtType)) {
    if (!rules.minionDataCache) return { minions: [...accepted], missing: [] };
    await minionData.ready();
  }
  const delimiter = asked.kwargs && textOf(asked.kwargs, 'delimiter');
  const target = {
    tgt: asked.tgt,
    tgtType: asked.tgtType,
    ...(delimiter === undefined ? {} : { delimiter }),
  };
  return checkMinions(target, {
    accepted,
    grains: (id) => minionData.grains(id),
    pillar: () => undefined,
    nodegroups: rules.nodegroups,
    cacheless: rules.cachelessTargets,
  });
}
