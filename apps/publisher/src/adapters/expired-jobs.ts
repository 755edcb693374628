import type { EventWriter } from '@brine/bus/events';
import { mapOf, pack } from '@brine/wire';

/** Sightings being written at once; further ones are left out. */
const MAX_IN_HAND = 256;

/**
 * Writes a sighting for a job that was not sent because it was past its time. `onTrouble` is called
 * for the first failure in a row; a failure only costs evidence.
 */
export function expiredReporter(
  events: Pick<EventWriter, 'append'>,
  onTrouble: (error: unknown, jid: string) => void,
): (jid: string) => void {
  let inHand = 0;
  let troubled = false;
  const failed = (error: unknown, jid: string): void => {
    if (!troubled) onTrouble(error, jid);
    troubled = true;
  };
  const report = async (jid: string): Promise<void> => {
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
    report(jid)
      .catch((error: unknown) => failed(error, jid))
      .finally(() => {
        inHand -= 1;
      });
  };
}
