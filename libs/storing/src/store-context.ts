import type { Stray } from '@brine/bus';
import { BusError } from '@brine/bus';
import type { EventMessage } from '@brine/bus/events';
import type { JobCache, RefusedRow, SaveReport } from '@brine/job-cache';
import type { Telemetry } from '@brine/telemetry';
import type { OutageRetry } from './outage-retry.ts';

/** The kinds of quarantined rows: rows of the batches, notices, unreadable messages. */
export type RefusedKind = 'jobs' | 'returns' | 'seen' | 'strays';

/** The numbers of the store. */
export interface StoreCounts {
  /** Counts a committed batch. */
  add(kind: 'jobs' | 'returns', report: SaveReport, seconds: number): void;
  /** Counts rows that went into quarantine. */
  addRefused(kind: RefusedKind, refused: readonly RefusedRow[]): void;
}

/** The context of every way into the store. */
export interface StoreContext {
  readonly cache: JobCache;
  readonly backoff: OutageRetry;
  readonly telemetry: Pick<Telemetry, 'recordSpan'>;
  readonly counts: StoreCounts;
  /** Announces the events that PostgreSQL has committed to the workers that wait for them. */
  readonly committed: (seqs: readonly number[]) => void;
  /** Unix milliseconds, with a fraction. */
  readonly now: () => number;
}

/**
 * The body of an event, inline or from the object store; waits during an outage of the object
 * store. Undefined if the event is settled: given back, because this process is to stop, or
 * quarantined unchanged, because its body can not be fetched.
 */
export async function fetchBody(
  event: EventMessage,
  context: StoreContext,
): Promise<Uint8Array | undefined> {
  if (event.body !== undefined) return event.body;
  const fetched = await context.backoff.retry(async () => {
    try {
      return { body: await event.fetch() };
    } catch (error) {
      if (!(error instanceof BusError) || error.retryable) throw error;
      return { gone: error };
    }
  });
  if (fetched === undefined) event.nak(0);
  else if ('body' in fetched) return fetched.body;
  else await keepStray(event.stray(fetched.gone), context);
  return undefined;
}

/** Puts an unreadable message into quarantine, unchanged. */
export async function keepStray(
  stray: Stray,
  { cache, backoff, counts }: Pick<StoreContext, 'cache' | 'backoff' | 'counts'>,
): Promise<void> {
  const { stream, headers, timeUs, incarnation, seq, subject, data, why } = stray;
  const kept = await backoff.retry(() =>
    cache.quarantine(
      {
        kind: 'stray',
        jid: '',
        id: '',
        incarnation,
        seq,
        subject,
        raw: data,
        receivedAt: Math.floor(timeUs / 1000),
        about: { stream, headers, timeUs },
      },
      why,
    ),
  );
  if (kept === undefined) return stray.nak(0);
  counts.addRefused('strays', [kept]);
  stray.ack();
}
