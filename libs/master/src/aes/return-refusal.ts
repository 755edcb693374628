import { isJid, isMinionId } from '@brine/job';
import { mapOf, pack } from '@brine/wire';
import type { MasterPorts } from '../ports/ports.ts';

/**
 * Stores the refusal of a return as evidence: `jobs.why` shows it for a silent minion. The stream
 * stores a refusal once in its window, so a minion that retries adds nothing.
 */
export async function keepRefusal(
  ports: MasterPorts,
  returned: { readonly jid: string | undefined; readonly minion: string | undefined },
  reason: string,
): Promise<void> {
  const { jid, minion } = returned;
  if (jid === undefined || minion === undefined || !isJid(jid) || !isMinionId(minion)) return;
  await ports.events.append({
    kind: 'sighting',
    tag: `brine/sighting/${jid}/refused`,
    body: pack(mapOf({ jid, ids: [minion], kind: 'refused', detail: mapOf({ reason }) })),
    msgId: `refused:${jid}:${minion}:${reason}`,
  });
}
