/**
 * The kinds of events; the last token of their subject. `hook` is an event of the HTTP API, whose
 * tag is below `salt/netapi/hook`. Three never reach a socket: `sighting`, a sighting of minions
 * that have not returned; `audit`, rows on record; and `run`, the entry of a runner or wheel in the
 * job cache.
 */
export const EVENT_KINDS = [
  'ret',
  'minion',
  'auth',
  'key',
  'local',
  'syndic',
  'job',
  'hook',
  'sighting',
  'audit',
  'run',
] as const;

/** A kind of event. */
export type EventKind = (typeof EVENT_KINDS)[number];

/** Kinds that no reader of a host's sockets gets. */
export const INNER_KINDS: ReadonlySet<EventKind> = new Set(['sighting', 'audit', 'run']);

/** True if a text names a kind of event. */
export function isEventKind(text: string): text is EventKind {
  return (EVENT_KINDS as readonly string[]).includes(text);
}

/**
 * An event; a minion's return is an event of kind `ret`. A worker makes it, and the stream EVENTS
 * keeps it. The store, the sockets of a host and the master above get it in this shape. Headers,
 * rows and socket frames are made from it where it leaves a process.
 */
export interface Event {
  readonly kind: EventKind;
  /** Salt's event tag, as `salt/job/<jid>/ret/<minion>`. */
  readonly tag: string;
  /** A msgpack map. */
  readonly body: Uint8Array;
  /** The job that it is about, if any. */
  readonly jid?: string | undefined;
  /** The minion that it is from or about. */
  readonly minion?: string | undefined;
  /** The engine of the master that fired it. */
  readonly engine?: string | undefined;
  /** A W3C traceparent that the sender gave; becomes a span link. */
  readonly link?: string | undefined;
  /** States that the host's event-bus saw the master's key with a request. */
  readonly proof?: string | undefined;
  /** The spans of this event are recorded: each service that forwards it records its own. */
  readonly traced?: boolean;
  /**
   * The same for all tries to append one event: the stream keeps it once. Without one each append
   * is another event. Events from the stream have none.
   */
  readonly msgId?: string;
}

/** The position of an event in the stream, and its time. */
export interface EventPosition {
  /** The incarnation of the stream: a re-created stream counts from 1 again. */
  readonly incarnation: string;
  readonly seq: number;
  /** The subject of its message. */
  readonly subject: string;
  /** When the stream stored it, in ms since 1970. */
  readonly timeMs: number;
}

/** An event from the stream. */
export interface StreamEvent extends Omit<Event, 'body' | 'msgId'>, EventPosition {
  /** Undefined for a large body: the message only has its key, and {@link fetch} gets it. */
  readonly body: Uint8Array | undefined;
  /** The size of the body, in bytes. */
  readonly size: number;
  /** The body, inline or from the object store. Rejects if it is gone, or can not be read now. */
  fetch(): Promise<Uint8Array>;
}

/**
 * A larger return has a message of its own, as it would only fill a page, and an id, so that the
 * stream stores it once. In an outage a minion sends it three times, which would fill the stream.
 */
export const LARGE_RETURN_BYTES = 32 * 1024;
