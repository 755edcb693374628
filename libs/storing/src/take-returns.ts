import type { EventMessage } from '@brine/bus/events';
import type { EventPosition, StreamEvent } from '@brine/job';
import { parseTag } from '@brine/job';
import type { ReturnRow } from '@brine/job-cache';
import type { StoreContext } from './store-context.ts';
import { fetchBody } from './store-context.ts';
import { storeNotices } from './take-notices.ts';

/** A return in flight, and its row. */
interface ReturnInFlight {
  readonly event: EventMessage;
  readonly row: ReturnRow;
}

/**
 * Stores returns and acknowledges them after the commit, until the groups end. Several may take
 * from the same groups: while one waits for PostgreSQL, the other makes the next statement ready.
 */
export async function takeReturns(
  groups: AsyncIterator<readonly EventMessage[], void>,
  context: StoreContext,
): Promise<void> {
  for (;;) {
    const group = await groups.next();
    if (group.done === true) return;
    const small: ReturnInFlight[] = [];
    const large: EventMessage[] = [];
    const notices: EventMessage[] = [];
    for (const event of group.value) {
      if (event.kind !== 'ret' && event.kind !== 'run') notices.push(event);
      else if (event.body === undefined) large.push(event);
      else small.push({ event, row: returnRow(event, event.body) });
    }
    if (small.length > 0) await storeReturns(small, context);
    if (notices.length > 0) await storeNotices(notices, context);
    // Separately, since each may be as large as the largest request.
    for (const event of large) await storeLarge(event, context);
  }
}

async function storeLarge(event: EventMessage, context: StoreContext): Promise<void> {
  const body = await fetchBody(event, context);
  if (body !== undefined) await storeReturns([{ event, row: returnRow(event, body) }], context);
}

async function storeReturns(
  returns: readonly ReturnInFlight[],
  context: StoreContext,
): Promise<void> {
  const { cache, backoff, telemetry, counts } = context;
  const startMs = context.now();
  const rows = returns.map(({ row }) => row);
  const report = await backoff.retry(() => cache.saveReturns(rows));
  if (report === undefined) {
    for (const { event } of returns) event.nak(0);
    return;
  }
  const endMs = context.now();
  context.committed(returns.map(({ event }) => event.seq));
  for (const { event, row } of returns) {
    event.ack();
    if (!event.traced) continue;
    telemetry.recordSpan({
      name: 'store',
      jid: row.jid,
      part: `store.${row.id}`,
      parentPart: `worker.return.${row.id}`,
      startMs,
      endMs,
      attributes: { 'brine.rows': returns.length },
      link: event.link,
    });
  }
  counts.add('returns', report, (endMs - startMs) / 1000);
}

/** The parts of the row of a return, besides its load. */
type ReturnEvent = EventPosition & Pick<StreamEvent, 'tag' | 'jid' | 'minion'>;

/** The row of a return event with this body. */
export function returnRow(event: ReturnEvent, load: Uint8Array): ReturnRow {
  const { jid, minion, timeMs, incarnation, seq, subject } = event;
  const tag = jid === undefined || minion === undefined ? parseTag(event.tag) : undefined;
  const inTag = tag?.kind === 'job-return' ? tag : undefined;
  return {
    // An empty jid or id is refused as a row: such an event goes to quarantine.
    jid: jid ?? inTag?.jid ?? '',
    id: minion ?? inTag?.id ?? '',
    load,
    receivedAt: timeMs,
    incarnation,
    seq,
    subject,
  };
}
