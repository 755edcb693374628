import type { Bus } from '../connection/connect.ts';
import { publish } from '../connection/inbox.ts';
import { type PresenceSubject, subjects } from '../subjects/names.ts';

/** Reports, which are sent once and not stored. Questions use `ask` and `serve`. */
type Reported = Exclude<PresenceSubject, 'ask'>;

/**
 * Publishes a report about connected minions (libs/presence/src/reports.ts). It is not stored: a
 * receiver of a part asks for the whole.
 */
export function publishPresence(bus: Bus, what: Reported, report: Uint8Array): void {
  if (bus.status === 'connected') publish(bus.connection, subjects.presence(what), report);
}

/** Calls `take` with each report from now on, until the returned function is called. */
export function onPresence(
  bus: Bus,
  what: Reported,
  take: (report: Uint8Array) => void,
  onTrouble: (err: unknown) => void,
): () => void {
  const subscription = bus.connection.subscribe(subjects.presence(what), {
    callback: (error, msg) => {
      // The rights of an external NATS may be older than this release.
      if (error !== null && error !== undefined) {
        onTrouble(error);
        return;
      }
      try {
        take(msg.data);
      } catch (err) {
        onTrouble(err);
      }
    },
  });
  return () => {
    if (!bus.connection.isClosed()) subscription.unsubscribe();
  };
}
