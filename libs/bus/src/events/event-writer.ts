import type { Bus } from '../connection/connect.ts';
import { MESSAGE_VERSION, VERSION_HEADER } from '../connection/message-version.ts';
import type { Appended } from '../streams/append.ts';
import { append, newMessageId } from '../streams/append.ts';
import { INLINE_MAX_BYTES, putBody } from '../streams/bodies.ts';
import { readStored } from '../streams/message-at.ts';
import { escapeHeader } from '../subjects/escape.ts';
import type { EventKind } from '../subjects/names.ts';
import { STREAMS, subjects } from '../subjects/names.ts';
import { EVENT_HEADERS, returnOf, StoredEvent } from './stored-event.ts';

/** An event on its way into the stream. */
export interface EventToAppend {
  readonly kind: EventKind;
  readonly tag: string;
  /** A msgpack map. */
  readonly body: Uint8Array;
  /**
   * By which the stream knows that it has the event already; without one each append is another.
   */
  readonly msgId?: string;
  readonly jid?: string;
  readonly minion?: string;
  /** A W3C traceparent that the sender gave; a span link. */
  readonly link?: string;
  /** The spans of this event are recorded, so whoever takes it further records its own. */
  readonly traced?: boolean;
}

/** Appends events to EVENTS and waits for the stream's acknowledgement. */
export class EventWriter {
  readonly #bus: Bus;
  readonly #timeoutMs: number;

  /** `timeoutMs`: how long an append is tried while the stream is away; default 4,000. */
  constructor(bus: Bus, options: { readonly timeoutMs?: number } = {}) {
    this.#bus = bus;
    this.#timeoutMs = options.timeoutMs ?? 4_000;
  }

  /**
   * Stores one event; a body above 256 KB is stored before, by reference.
   * @throws BusError `BUS_STREAM_AWAY`, `BUS_STREAM_FULL`, `BUS_FORBIDDEN`, `BUS_REFUSED`.
   */
  async append(event: EventToAppend): Promise<Appended> {
    const headers: Record<string, string> = {
      [EVENT_HEADERS.tag]: escapeHeader(event.tag),
    };
    if (!saysTag(event)) {
      if (event.jid !== undefined) headers[EVENT_HEADERS.jid] = escapeHeader(event.jid);
      if (event.minion !== undefined) headers[EVENT_HEADERS.minion] = escapeHeader(event.minion);
    }
    if (event.link !== undefined) headers[EVENT_HEADERS.link] = escapeHeader(event.link);
    if (event.traced === true) headers[EVENT_HEADERS.traced] = '1';
    // The first form needs no word, which each return would carry.
    if (MESSAGE_VERSION > 1) headers[VERSION_HEADER] = String(MESSAGE_VERSION);
    let payload = event.body;
    if (payload.length > INLINE_MAX_BYTES) {
      headers[EVENT_HEADERS.reference] = await putBody(this.#bus, 'evt', payload);
      payload = new Uint8Array(0);
    }
    return append(this.#bus, {
      subject: subjects.event(event.kind),
      payload,
      headers,
      timeoutMs: this.#timeoutMs,
      msgId: event.msgId === undefined ? newMessageId() : escapeHeader(event.msgId),
    });
  }

  /** The event at a sequence, as a duplicate's `seq` tells it; undefined once it was purged. */
  async stored(seq: number): Promise<StoredEvent | undefined> {
    const received = await readStored(this.#bus, STREAMS.events, seq);
    return received === undefined ? undefined : StoredEvent.read(this.#bus, received);
  }
}

/** Whether its tag says which job and minion a return is of: then no header need say it. */
function saysTag({ kind, tag, jid, minion }: EventToAppend): boolean {
  const told = returnOf(kind, tag);
  return told !== undefined && told.jid === jid && told.id === minion;
}
