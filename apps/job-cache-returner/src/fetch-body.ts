import type { StoredEvent } from '@brine/bus';
import type { StoreContext } from './store-context.ts';

/**
 * The body of an event, from wherever it is: waits while the object store is away, and is empty
 * where the body is gone for good, which no row can be made of. Undefined once we are to stop.
 */
export async function fetchBody(
  event: StoredEvent,
  context: Pick<StoreContext, 'hold' | 'log'>,
): Promise<Uint8Array | undefined> {
  if (event.inline !== undefined) return event.inline;
  return context.hold.until(async () => {
    try {
      return await event.body();
    } catch (error) {
      if (!isGone(error)) throw error;
      const { jid, minion, tag } = event;
      context.log.error({ jid, minion, tag }, 'the body of an event is gone');
      return new Uint8Array(0);
    }
  });
}

function isGone(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error
    ? error.code === 'BUS_BODY_GONE'
    : false;
}
