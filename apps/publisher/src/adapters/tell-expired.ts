import type { EventWriter } from '@brine/bus/events';
import { mapOf, pack } from '@brine/wire';

/** Words about expired jobs on their way at once; of further ones nothing is kept. */
const MAX_IN_HAND = 256;

/**
 * Keeps as evidence that a job was not sent because it was past its time. `onTrouble` is told of
 * the first that could not be kept in a row: evidence is missing then, and nothing else.
 */
export function expiredTeller(
  events: Pick<EventWriter, 'append'>,
  onTrouble: (error: unknown, jid: string) => void,
): (jid: string) => void {
  let inHand = 0;
  let troubled = false;
  const failed = (error: unknown, jid: string): void => {
    if (!troubled) onTrouble(error, jid);
    troubled = true;
  };
  const tell = async (jid: string): Promise<void> => {
    await events.append({
      kind: 'sighting',
      tag: `brine/sighting/${jid}/expired`,
      // '' stands for all minions.
      body: pack(mapOf({ jid, ids: [''], kind: 'expired' })),
      msgId: `expired:${jid}`,
    });
    troubled = false;
  };
  return (jid) => {
    if (inHand >= MAX_IN_HAND) return failed(new Error('too many jobs expire at once'), jid);
    inHand += 1;
    tell(jid)
      .catch((error: unknown) => failed(error, jid))
      .finally(() => {
        inHand -= 1;
      });
  };
}
