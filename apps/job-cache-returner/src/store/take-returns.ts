import type { StoredEvent } from '@brine/bus/events';
import { parseTag } from '@brine/job';
import type { ReturnRow } from '@brine/job-cache';
import type { StoreContext } from '../adapters/store-context.ts';
import { fetchBody } from './fetch-body.ts';
import { storeSeen } from './store-seen.ts';

/** A return and the event it came in. */
interface Taken {
  readonly event: StoredEvent;
  readonly row: ReturnRow;
}

/**
 * Stores returns and acknowledges them after the commit, until the groups end. Several may take
 * from the same groups: while one waits for PostgreSQL, the other makes the next statement ready.
 */
export async function takeReturns(
  groups: AsyncIterator<readonly StoredEvent[], void>,
  context: StoreContext,
): Promise<void> {
  for (;;) {
    const group = await groups.next();
    if (group.done === true) return;
    const small: Taken[] = [];
    const large: StoredEvent[] = [];
    const seen: StoredEvent[] = [];
    for (const event of group.value) {
      if (event.kind !== 'ret') seen.push(event);
      else if (event.inline === undefined) large.push(event);
      else small.push({ event, row: returnRow(event, event.inline) });
    }
    if (small.length > 0) await storeReturns(small, context);
    if (seen.length > 0) await storeSeen(seen, context);
    // One at a time: each may be as large as the largest request.
    for (const event of large) await storeLarge(event, context);
  }
}

async function storeLarge(event: StoredEvent, context: StoreContext): Promise<void> {
  const body = await fetchBody(event, context);
  if (body !== undefined) await storeReturns([{ event, row: returnRow(event, body) }], context);
}

async function storeReturns(taken: readonly Taken[], context: StoreContext): Promise<void> {
  const { cache, hold, telemetry, counts } = context;
  const startMs = context.now();
  const rows = taken.map(({ row }) => row);
  const report = await hold.until(() => cache.saveReturns(rows));
  if (report === undefined) {
    for (const { event } of taken) event.nak(0);
    return;
  }
  const endMs = context.now();
  context.committed(taken.map(({ event }) => event.seq));
  for (const { event, row } of taken) {
    event.ack();
    if (!event.traced) continue;
    telemetry.recordSpan({
      name: 'store',
      jid: row.jid,
      part: `store.${row.id}`,
      parentPart: `worker.return.${row.id}`,
      startMs,
      endMs,
      attributes: { 'brine.rows': taken.length },
      link: event.link,
    });
  }
  counts.add('returns', report, (endMs - startMs) / 1000);
}

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
