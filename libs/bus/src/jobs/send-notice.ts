import type { Bus } from '../connection/connect.ts';
import { publish } from '../connection/inbox.ts';
import { subjects } from '../subjects/names.ts';

/** A publisher handed a job to its socket. */
export interface Sent {
  readonly jid: string;
  /** The piece of a job whose caller fixed the jid. */
  readonly piece?: string;
  /** When, in ms since 1970 with a fraction. */
  readonly sentMs: number;
  /** How often it was sent before: publications are sent again to minions that reconnect. */
  readonly before: number;
  /** How many minions are expected to return. */
  readonly minions: number;
  /** Which, for pieces; up to 2,000 of them. */
  readonly ids?: readonly string[];
}

/** Ids of one message; a larger piece goes without them. */
const IDS_MAX = 2_000;

/**
 * Publishes, once, that a job went out. It is not stored, since only the times in a trace depend on
 * it.
 */
export function announceSent(bus: Bus, sent: Sent): void {
  if (bus.status !== 'connected') return;
  const ids = sent.ids === undefined || sent.ids.length > IDS_MAX ? undefined : sent.ids;
  publish(bus.connection, subjects.sent, JSON.stringify({ ...sent, ids }));
}

/**
 * Calls `take` for each job that goes out from now on, until the returned function is called.
 * Unreadable messages are ignored.
 */
export function onSent(bus: Bus, take: (sent: Sent) => void): () => void {
  const subscription = bus.connection.subscribe(subjects.sent, {
    callback: (_error, msg) => {
      const sent = readSent(msg.data);
      if (sent !== undefined) take(sent);
    },
  });
  return () => {
    if (!bus.connection.isClosed()) subscription.unsubscribe();
  };
}

/** Reads such a message; undefined for anything that {@link announceSent} did not make. */
export function readSent(data: Uint8Array): Sent | undefined {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(data.buffer, data.byteOffset, data.length).toString('utf8'));
  } catch {
    return undefined; // Not from a publisher; the trace then lacks the time.
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const { jid, piece, sentMs, before, minions, ids } = value as Record<string, unknown>;
  const good =
    typeof jid === 'string' &&
    (piece === undefined || typeof piece === 'string') &&
    [sentMs, before, minions].every((one) => Number.isFinite(one)) &&
    (ids === undefined || (Array.isArray(ids) && ids.every((id) => typeof id === 'string')));
  return good ? (value as Sent) : undefined;
}
