import { isMap, pack, type SaltMap, unpack } from '@brine/wire';
import type { Bus } from '../connection/connect.ts';
import { publish } from '../connection/inbox.ts';
import { subjects } from '../subjects/names.ts';

/** A longer word is not sent: words name things, they do not carry them. */
const BROADCAST_MAX_BYTES = 64 * 1024;

/**
 * Says a word that every worker of the cluster hears, this one too. It is no message of a stream:
 * a worker that is away does without, so a word may only hasten what happens anyway.
 * @throws RangeError for more than 64 KiB
 */
export function broadcastToWorkers(bus: Bus, broadcast: SaltMap): void {
  const bytes = pack(broadcast);
  if (bytes.length > BROADCAST_MAX_BYTES) throw new RangeError('a word to workers is too long');
  if (bus.status === 'connected') publish(bus.connection, subjects.word, bytes);
}

/** Calls `take` with each word from now on, until the returned function is called. */
export function onBroadcast(
  bus: Bus,
  take: (broadcast: SaltMap) => void,
  onTrouble: (err: unknown) => void,
): () => void {
  const subscription = bus.connection.subscribe(subjects.word, {
    callback: (error, msg) => {
      // The rights of a NATS that is not ours may be older than this release.
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
