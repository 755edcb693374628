import type { EventKind, StreamEvent } from '@brine/job';
import { isEventKind } from '@brine/job';
import type { Bus } from '../connection/connect.ts';
import { BusError } from '../connection/errors.ts';
import { getBody, sizeOfReference } from '../streams/bodies.ts';
import { readStored } from '../streams/direct-get.ts';
import type { MessageReaderOptions } from '../streams/message-reader.ts';
import { MessageReader } from '../streams/message-reader.ts';
import type { Stray } from '../streams/stray.ts';
import { strayOf } from '../streams/stray.ts';
import type { Received } from '../streams/stream-reader.ts';
import { unescapeHeader } from '../subjects/escape.ts';
import { STREAMS, subjects } from '../subjects/names.ts';
import { EVENT_HEADERS, returnOf } from './event-writer.ts';

/**
 * Batch size for a reader that iterates one by one: a turn of the reader for each costs as much.
 */
const ITERATED = 64;

/**
 * Reads EVENTS in order. A durable reader gets again what was not acked; several processes may
 * share one durable name. Without a name every reader gets every event, and acks do nothing.
 */
export class EventReader extends MessageReader<EventKind> implements AsyncIterable<EventMessage> {
  readonly #bus: Bus;

  constructor(bus: Bus, options: MessageReaderOptions<EventKind> = {}) {
    super(bus, STREAMS.events, subjects.event, options);
    this.#bus = bus;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<EventMessage, void> {
    for await (const batch of this.batches(ITERATED)) yield* batch;
  }

  /**
   * The events in groups: what is here, at least one and at most `max`. A group that is not full
   * waits `lingerMs` for more.
   */
  async *batches(max: number, lingerMs = 0): AsyncGenerator<readonly EventMessage[], void> {
    for (;;) {
      const received = await this.take(max, lingerMs);
      if (received.length === 0) return;
      const events: EventMessage[] = [];
      for (const one of received) {
        const event = EventMessage.read(this.#bus, one);
        if (event !== undefined) events.push(event);
        else this.pass(one, new BusError('BUS_BAD_MESSAGE', 'no event of ours'));
      }
      if (events.length > 0) yield events;
    }
  }
}

/** An event as one message of the stream, which a durable reader acknowledges. */
export class EventMessage implements StreamEvent {
  readonly kind: EventKind;
  readonly tag: string;
  readonly subject: string;
  readonly jid: string | undefined;
  readonly minion: string | undefined;
  readonly link: string | undefined;
  readonly traced: boolean;
  readonly body: Uint8Array | undefined;
  readonly size: number;
  readonly seq: number;
  readonly incarnation: string;
  readonly timeMs: number;
  /** 1 the first time; more after a missing ack. */
  readonly deliveries: number;
  readonly #bus: Bus;
  readonly #received: Received;
  /** Of a body in the object store. */
  readonly #reference: string | undefined;

  private constructor(bus: Bus, received: Received, kind: EventKind, tag: string) {
    const header = (name: string): string | undefined => {
      const value = received.header(name);
      return value === '' ? undefined : unescapeHeader(value);
    };
    const inTag = returnOf(kind, tag);
    const reference = header(EVENT_HEADERS.reference);
    this.#bus = bus;
    this.#received = received;
    this.#reference = reference;
    this.kind = kind;
    this.tag = tag;
    this.subject = received.subject;
    this.jid = header(EVENT_HEADERS.jid) ?? inTag?.jid;
    this.minion = header(EVENT_HEADERS.minion) ?? inTag?.id;
    this.link = header(EVENT_HEADERS.link);
    this.traced = received.header(EVENT_HEADERS.traced) !== '';
    this.body = reference === undefined ? received.data : undefined;
    this.size = reference === undefined ? received.data.length : (sizeOfReference(reference) ?? 0);
    this.seq = received.seq;
    this.incarnation = received.incarnation;
    this.timeMs = Math.floor(received.timeUs / 1_000);
    this.deliveries = received.deliveries;
  }

  /** Reads an event; undefined for a message that no EventWriter made. For this library only. */
  static read(bus: Bus, received: Received): EventMessage | undefined {
    const kind = received.subject.split('.')[2] ?? '';
    const tag = received.header(EVENT_HEADERS.tag);
    if (!isEventKind(kind) || tag === '') return undefined;
    return new EventMessage(bus, received, kind, unescapeHeader(tag));
  }

  /** @throws BusError `BUS_BODY_GONE` and as `Inbox.request` does. */
  async fetch(): Promise<Uint8Array> {
    if (this.#reference === undefined) return this.#received.data;
    return getBody(this.#bus, 'evt', this.#reference);
  }

  /** Acknowledges: this durable reader is done with the event. */
  ack(): void {
    this.#received.settle('+ACK');
  }

  /** The event could not be handled: it comes again some times, then it is passed over. */
  failed(error: unknown): void {
    this.#received.failed(error);
  }

  /** The message as it stands in the stream, for quarantine when its body can not be fetched. */
  stray(why: unknown): Stray {
    return strayOf(STREAMS.events, this.#received, why);
  }

  /** Asks for the event again after `delayMs`. */
  nak(delayMs: number): void {
    this.#received.settle(`-NAK {"delay":${Math.round(delayMs * 1e6)}}`);
  }
}

/** The event at a sequence of the stream; undefined once it was purged. */
export async function eventAt(bus: Bus, seq: number): Promise<EventMessage | undefined> {
  const received = await readStored(bus, STREAMS.events, seq);
  return received === undefined ? undefined : EventMessage.read(bus, received);
}
