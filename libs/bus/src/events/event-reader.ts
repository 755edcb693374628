import type { EventKind, StreamEvent } from '@brine/job';
import { isEventKind } from '@brine/job';
import type { Bus } from '../connection/connect.ts';
import { BusError } from '../connection/errors.ts';
import { isNewer, NEWER_RETRY_MS, NEWER_TRIES_MAX } from '../connection/message-version.ts';
import { getBody, sizeOfReference } from '../streams/bodies.ts';
import { readStored } from '../streams/message-at.ts';
import type { KeepStray, Stray } from '../streams/stray.ts';
import { strayOf } from '../streams/stray.ts';
import type { ReadFrom, Received } from '../streams/stream-reader.ts';
import { StreamReader } from '../streams/stream-reader.ts';
import { unescapeHeader } from '../subjects/escape.ts';
import { STREAMS, subjects } from '../subjects/names.ts';
import { EVENT_HEADERS, returnOf } from './event-writer.ts';

/** What to read, and how the place is kept. */
export interface EventReaderOptions {
  /** Only these kinds; default all. */
  readonly kinds?: readonly EventKind[];
  /** Name of a durable consumer: its place is kept by the server, and each event must be acked. */
  readonly durable?: string;
  /** Where to begin, default `all` for a durable reader (the first time), else `new`. */
  readonly from?: ReadFrom;
  readonly ackWaitMs?: number;
  /** True: events in flight are not delivered to another reader while this one is alive. */
  readonly holds?: boolean;
  readonly maxAckPending?: number;
  /** The server forgets a durable place that was not used for so long, in ms; default never. */
  readonly forgetAfterMs?: number;
  /** Gets messages that can not be read. By default they are passed over, counted and logged. */
  readonly keepStray?: KeepStray;
}

/** Batch size for a reader that iterates one by one: a turn of the reader for each costs as much. */
const ITERATED = 64;

/**
 * Reads EVENTS in order. A durable reader gets what was not acked again; several processes may
 * share one durable name. Without one every reader gets every event, and acks do nothing.
 */
export class EventReader implements AsyncIterable<EventMessage> {
  readonly #bus: Bus;
  readonly #reader: StreamReader;
  readonly #keepStray: KeepStray | undefined;
  readonly #isDurable: boolean;
  #strays = 0;
  #newer = 0;

  constructor(bus: Bus, options: EventReaderOptions = {}) {
    const { kinds, from, keepStray, ...consumer } = options;
    this.#bus = bus;
    this.#keepStray = keepStray;
    this.#isDurable = options.durable !== undefined;
    this.#reader = new StreamReader(bus, {
      ...consumer,
      stream: STREAMS.events,
      from: from ?? (options.durable === undefined ? 'new' : 'all'),
      ...(kinds === undefined ? {} : { filterSubjects: kinds.map(subjects.event) }),
    });
  }

  /** Whether events are being read just now. */
  get reading(): boolean {
    return this.#reader.reading;
  }

  /** Why nothing is being read just now, as far as is known. */
  get trouble(): string | undefined {
    return this.#reader.trouble;
  }

  /** How often the stream turned out to be another: made again, or put back from an older copy. */
  get resets(): number {
    return this.#reader.resets;
  }

  /** When the stream was made that is being read; undefined before it was found. */
  get incarnation(): string | undefined {
    return this.#reader.incarnation;
  }

  /** Messages in the stream that were no events of ours, and were passed over. */
  get strays(): number {
    return this.#strays;
  }

  /** Events in a form that only a newer release reads; a durable reader leaves them to it. */
  get newer(): number {
    return this.#newer;
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
      const received = await this.#reader.take(max, lingerMs);
      if (received.length === 0) return;
      const events: EventMessage[] = [];
      for (const one of received) {
        if (isNewer(one.header)) {
          this.#newer++;
          const isLeft = this.#isDurable && one.deliveries < NEWER_TRIES_MAX;
          if (isLeft) one.settle(`-NAK {"delay":${NEWER_RETRY_MS * 1e6}}`);
          else this.#pass(one, new BusError('BUS_BAD_MESSAGE', 'an event of a newer release'));
          continue;
        }
        const event = EventMessage.read(this.#bus, one);
        if (event !== undefined) events.push(event);
        else this.#pass(one, new BusError('BUS_BAD_MESSAGE', 'no event of ours'));
      }
      if (events.length > 0) yield events;
    }
  }

  #pass(received: Received, why: BusError): void {
    this.#strays++;
    if (this.#keepStray === undefined) this.#reader.failed(received, why, true);
    else this.#keepStray(strayOf(STREAMS.events, received, why));
  }

  /** Ends the reading; the iterators end after what is here. */
  close(): void {
    this.#reader.close();
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

  /** Its message as it stands in the stream, for quarantine where its body can not be had. */
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
