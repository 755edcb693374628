import { isMap, pack, type SaltMap, unpack } from '@brine/wire';
import type { Bus } from '../connection/connect.ts';
import { publish } from '../connection/inbox.ts';
import { subjects } from '../subjects/names.ts';

/** A broadcast names things and does not carry them; a longer one is refused. */
const BROADCAST_MAX_BYTES = 64 * 1024;

/**
 * Broadcasts a message to all workers, including this one. Delivery is best effort: use it only to
 * speed up what polling would find anyway.
 * @throws RangeError for more than 64 KiB
 */
export function broadcastToWorkers(bus: Bus, broadcast: SaltMap): void {
  const bytes = pack(broadcast);
  if (bytes.length > BROADCAST_MAX_BYTES) throw new RangeError('the broadcast is too long');
  if (bus.status === 'connected') publish(bus.connection, subjects.word, bytes);
}

/** Calls `take` with each broadcast from now on, until the returned function is called. */
export function onBroadcast(
  bus: Bus,
  take: (broadcast: SaltMap) => void,
  onTrouble: (err: unknown) => void,
): () => void {
  const subscription = bus.connection.subscribe(subjects.word, {
    callback: (error, msg) => {
      // The rights of an external NATS may be older than this release.
      if (error !== null && error !== undefined) {
        onTrouble(error);
        return;
      }
      try {
        const broadcast = unpack(msg.data);
        if (isMap(broadcast)) take(broadcast);
      } catch (err) {
        onTrouble(err);
      }
    },
  });
  return () => {
    if (!bus.connection.isClosed()) subscription.unsubscribe();
  };
}
