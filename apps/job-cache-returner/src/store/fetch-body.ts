import { BusError } from '@brine/bus';
import type { StoredEvent } from '@brine/bus/events';
import type { StoreContext } from '../adapters/store-context.ts';
import { keepStray } from './keep-stray.ts';

/**
 * The body of an event, from wherever it is; waits while the object store is away. Undefined where
 * the event is settled: given back, because we are to stop, or put away as it stands in the stream,
 * because its body is not to be had.
 */
export async function fetchBody(
  event: StoredEvent,
  context: StoreContext,
): Promise<Uint8Array | undefined> {
  if (event.inline !== undefined) return event.inline;
  const fetched = await context.hold.until(async () => {
    try {
      return { body: await event.body() };
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
