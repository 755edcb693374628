import { createHash } from 'node:crypto';
import { isJid, isMinionId } from '@brine/job';
import { matchGlob } from '@brine/target';
import { mapOf, pack, type SaltMap, type SaltValue } from '@brine/wire';
import { withoutCredentials } from '@brine/wire/load';
import type { MasterPorts } from '../ports/ports.ts';

/** Fields of a load or a `salt/job/<jid>/new` that concern minions and the bus, not the job. */
const NO_LOAD = ['minions', 'Minions', 'missing', 'jid', '_stamp', 'auth_list'];

/** True if a minion may be a syndic: only below a master of masters that allows it. */
export function mayBeSyndic({ rules }: MasterPorts, id: string): boolean {
  return rules.orderMasters && rules.syndics.some((glob) => matchGlob(glob, id));
}

/** The minions in a list; undefined if the value is no list. */
export function minionsNamed(list: SaltValue | undefined): string[] | undefined {
  return Array.isArray(list) ? list.filter((id) => isMinionId(id)) : undefined;
}

/**
 * Reports to the store which minions a lower master expects to answer a job (salt/utils/job.py
 * `store_minions`). Reports the job too, which may be the lower master's own. The same list of the
 * same syndic is stored once, however it arrives.
 */
export async function reportExpected(
  ports: MasterPorts,
  expected: {
    readonly syndic: string;
    readonly jid: string;
    readonly minions: readonly string[];
    readonly load: SaltMap;
  },
): Promise<void> {
  const { syndic, jid, minions } = expected;
  if (!isJid(jid)) {
    ports.count('syndic_invalid_jid');
    return;
  }
  const ids = [...new Set(minions)].sort();
  // A stock master below stores the keys of its commands with its jobs.
  const load = withoutCredentials(expected.load);
  for (const name of NO_LOAD) load.delete(name);
  const hash = createHash('sha1').update(pack(ids)).digest('base64url');
  await ports.events.append({
    kind: 'sighting',
    tag: `brine/sighting/${jid}/below`,
    body: pack(mapOf({ jid, ids, kind: 'below', syndic, deadline: ports.rules.jobDeadline, load })),
    msgId: `below:${jid}:${syndic}:${hash}`,
  });
  ports.count('syndic_lists');
}
