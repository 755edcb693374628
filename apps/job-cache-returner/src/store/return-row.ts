import type { StoredEvent } from '@brine/bus/events';
import { parseTag } from '@brine/job';
import type { ReturnRow } from '@brine/job-cache';

/** The row of a return event with this body. */
export function returnRow(event: StoredEvent, load: Uint8Array): ReturnRow {
  const tag =
    event.jid === undefined || event.minion === undefined ? parseTag(event.tag) : undefined;
  const told = tag?.kind === 'job-return' ? tag : undefined;
  return {
    // An empty jid or id is refused as a row: such an event ends in quarantine.
    jid: event.jid ?? told?.jid ?? '',
    id: event.minion ?? told?.id ?? '',
    load,
    receivedAt: event.timeMs,
    incarnation: event.incarnation,
    seq: event.seq,
    subject: event.subject,
  };
}
