import { parseTag } from '@brine/job';
import type { Bus } from '../connection/connect.ts';
import { getBody, sizeOfReference } from '../streams/bodies.ts';
import type { Stray } from '../streams/stray.ts';
import { strayOf } from '../streams/stray.ts';
import type { Received } from '../streams/stream-reader.ts';
import { unescapeHeader } from '../subjects/escape.ts';
import type { EventKind } from '../subjects/names.ts';
import { isEventKind, STREAMS } from '../subjects/names.ts';

/**
 * The headers of an event; the tag is there, so that readers match it without decoding. A return's
 * job and minion stand in its tag and need no headers.
 */
export const EVENT_HEADERS = {
  tag: 'Brine-Tag',
  jid: 'Brine-Jid',
  minion: 'Brine-Minion',
  link: 'Brine-Link',
  traced: 'Brine-Traced',
  reference: 'Brine-Body',
} as const;

/** The job and the minion that the tag of a return names, where it is of that form. */
export function returnOf(
  kind: EventKind,
  tag: string,
): { readonly jid: string; readonly id: string } | undefined {
  const told = kind === 'ret' ? parseTag(tag) : undefined;
  return told?.kind === 'job-return' ? told : undefined;
}

/** An event as it came out of the stream. */
export class StoredEvent {
  readonly kind: EventKind;
  readonly tag: string;
  /** Where it stands in the stream. */
  readonly subject: string;
  readonly jid: string | undefined;
  readonly minion: string | undefined;
  readonly link: string | undefined;
  /** Whether the spans of this event are recorded. */
  readonly traced: boolean;
  /** The bytes, unless they are elsewhere; then {@link body} fetches them. */
  readonly inline: Uint8Array | undefined;
  /** Of the body, in bytes. */
  readonly size: number;
  /** The stream's sequence, which only together with `incarnation` is unique. */
  readonly seq: number;
  /** When the stream was made. */
  readonly incarnation: string;
  /** When the stream stored the event, in ms since 1970. */
  readonly timeMs: number;
  /** 1 the first time; more after a missing ack. */
  readonly deliveries: number;
  readonly #bus: Bus;
  readonly #received: Received;
  readonly #reference: string | undefined;

  private constructor(bus: Bus, received: Received, kind: EventKind, tag: string) {
    const header = (name: string): string | undefined => {
      const value = received.header(name);
      return value === '' ? undefined : unescapeHeader(value);
    };
    this.#bus = bus;
    this.#received = received;
    this.kind = kind;
    this.tag = tag;
    this.subject = received.subject;
    const told = returnOf(kind, tag);
    this.jid = header(EVENT_HEADERS.jid) ?? told?.jid;
    this.minion = header(EVENT_HEADERS.minion) ?? told?.id;
    this.link = header(EVENT_HEADERS.link);
    this.traced = received.header(EVENT_HEADERS.traced) !== '';
    this.#reference = header(EVENT_HEADERS.reference);
    this.inline = this.#reference === undefined ? received.data : undefined;
    this.size =
      this.#reference === undefined
        ? received.data.length
        : (sizeOfReference(this.#reference) ?? 0);
    this.seq = received.seq;
    this.incarnation = received.incarnation;
    this.timeMs = Math.floor(received.timeUs / 1_000);
    this.deliveries = received.deliveries;
  }

  /** Reads an event; undefined for a message that no EventWriter made. For this library only. */
  static read(bus: Bus, received: Received): StoredEvent | undefined {
    const kind = received.subject.split('.')[2] ?? '';
    const tag = received.header(EVENT_HEADERS.tag);
    if (!isEventKind(kind) || tag === '') return undefined;
    return new StoredEvent(bus, received, kind, unescapeHeader(tag));
  }

  /**
   * The whole body, fetched if it is elsewhere.
   * @throws BusError `BUS_BODY_GONE` and as `Inbox.request` does.
   */
  async body(): Promise<Uint8Array> {
    if (this.#reference === undefined) return this.#received.data;
    return getBody(this.#bus, 'evt', this.#reference);
  }

  /** Tells the stream that this durable reader is done with the event. */
  ack(): void {
    this.#received.settle('+ACK');
  }

  /** Tells that the event could not be handled: it comes again some times, then moves aside. */
  failed(error: unknown): void {
    this.#received.failed(error);
  }

  /** Its message as it stands in the stream, to be kept where its body is not to be had. */
  stray(why: unknown): Stray {
    return strayOf(STREAMS.events, this.#received, why);
  }

  /** Asks for the event again after `delayMs`. */
  nak(delayMs: number): void {
    this.#received.settle(`-NAK {"delay":${Math.round(delayMs * 1e6)}}`);
  }
}
