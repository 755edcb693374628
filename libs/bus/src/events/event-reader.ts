import type { Event, EventKind, StreamEvent } from '@brine/job';
import { isEventKind, isHookTag, jobReturnTag } from '@brine/job';
import type { Bus } from '../connection/connect.ts';
import { BusError } from '../connection/errors.ts';
import { getBody, sizeOfReference } from '../streams/bodies.ts';
import { readStored } from '../streams/direct-get.ts';
import type { MessageReaderOptions } from '../streams/message-reader.ts';
import { MessageReader } from '../streams/message-reader.ts';
import { nakAfter } from '../streams/pull-feed.ts';
import type { Stray } from '../streams/stray.ts';
import { strayOf } from '../streams/stray.ts';
import type { Received } from '../streams/stream-reader.ts';
import { unescapeHeader } from '../subjects/escape.ts';
import { STREAMS, subjects } from '../subjects/names.ts';
import { EVENT_HEADERS, returnOf } from './event-writer.ts';
import { PAGE_HEADER, type PagedReturn, readPage } from './page.ts';
import { type Outcome, PageAcks } from './page-acks.ts';

/**
 * Batch size for a reader that iterates one by one: a turn of the reader for each costs as much.
 */
const ITERATED = 64;

/**
 * Reads EVENTS in order. A durable reader receives unacknowledged events again; several processes
 * may share one durable name. Without a name every reader gets every event, and acks do nothing.
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
   * The events in groups of at least one and about `max`, since a page is never split. A group that
   * is not full waits `lingerMs` for more.
   */
  async *batches(max: number, lingerMs = 0): AsyncGenerator<readonly EventMessage[], void> {
    for await (const messages of this.unread(max, lingerMs)) {
      let events: EventMessage[] = [];
      for (const message of messages) {
        for (const event of message.read()) events.push(event);
        if (events.length < max) continue;
        yield events;
        events = [];
      }
      if (events.length > 0) yield events;
    }
  }

  /** As {@link batches}, of messages: for a reader that does not need the events of each. */
  async *unread(max: number, lingerMs = 0): AsyncGenerator<readonly UnreadEvents[], void> {
    for (;;) {
      const received = await this.take(max, lingerMs);
      if (received.length === 0) return;
      yield received.map((one) => ({
        kind: kindOf(one),
        count: countOf(one),
        read: () => this.#read(one),
      }));
    }
  }

  #read(received: Received): readonly EventMessage[] {
    try {
      return readEvents(this.#bus, received, this.isDurable);
    } catch (error) {
      if (!(error instanceof BusError)) throw error;
      this.pass(received, error);
      return [];
    }
  }
}

/** A message of the stream, which may contain several events. */
export interface UnreadEvents {
  readonly kind: EventKind | undefined;
  /** How many events it has according to its header. */
  readonly count: number;
  /** Its events; empty if it can not be read, which its reader counts. */
  readonly read: () => readonly EventMessage[];
}

function kindOf({ subject }: Received): EventKind | undefined {
  const kind = subject.split('.')[2] ?? '';
  return isEventKind(kind) ? kind : undefined;
}

function countOf(received: Received): number {
  const count = received.header(PAGE_HEADER);
  return count === '' ? 1 : Number(count);
}

/**
 * The events of a message: those of a page, or its only one. `settles`: its reader is durable and
 * so acknowledges each.
 * @throws BusError `BUS_BAD_MESSAGE` for a message that no EventWriter made.
 */
export function readEvents(
  bus: Bus,
  received: Received,
  settles: boolean,
): readonly EventMessage[] {
  const kind = kindOf(received);
  if (kind === undefined) throw noEvent();
  if (received.header(PAGE_HEADER) === '') {
    return [new EventMessage(bus, received, eventOf(received, kind))];
  }
  // Who may append another kind may not append returns with it.
  if (kind !== 'ret') throw noEvent();
  const returns = readPage(received.data, countOf(received));
  const page = settles ? new PageAcks(received, returns.length) : undefined;
  return returns.map((one) => new EventMessage(bus, received, pagedEvent(kind, one), page));
}

/** The part of an event that its message carries. */
interface ReadEvent extends Pick<
  Event,
  'kind' | 'tag' | 'jid' | 'minion' | 'engine' | 'link' | 'proof'
> {
  readonly traced: boolean;
  /** Undefined where it is in the object store, under `reference`. */
  readonly body: Uint8Array | undefined;
  readonly reference?: string | undefined;
}

function eventOf(received: Received, kind: EventKind): ReadEvent {
  const header = (name: string): string | undefined => {
    const value = received.header(name);
    return value === '' ? undefined : unescapeHeader(value);
  };
  const tag = header(EVENT_HEADERS.tag);
  if (tag === undefined) throw noEvent();
  const reference = header(EVENT_HEADERS.reference);
  const body = reference === undefined ? received.data : undefined;
  if (kind === 'hook') {
    if (!isHookTag(tag)) throw noEvent();
    // The HTTP API speaks for no minion, job or engine: its other headers count for nothing.
    return { kind, tag, traced: false, body, reference };
  }
  const inTag = returnOf(kind, tag);
  return {
    kind,
    tag,
    jid: header(EVENT_HEADERS.jid) ?? inTag?.jid,
    minion: header(EVENT_HEADERS.minion) ?? inTag?.id,
    engine: header(EVENT_HEADERS.engine),
    link: header(EVENT_HEADERS.link),
    proof: header(EVENT_HEADERS.proof),
    traced: received.header(EVENT_HEADERS.traced) !== '',
    body,
    reference,
  };
}

function pagedEvent(kind: EventKind, { jid, minion, link, traced, body }: PagedReturn): ReadEvent {
  return { kind, tag: jobReturnTag(jid, minion), jid, minion, link, traced, body };
}

function noEvent(): BusError {
  return new BusError('BUS_BAD_MESSAGE', 'no event of ours');
}

/** An event out of the stream, which a durable reader acknowledges. */
export class EventMessage implements StreamEvent {
  readonly kind: EventKind;
  readonly tag: string;
  readonly subject: string;
  readonly jid: string | undefined;
  readonly minion: string | undefined;
  readonly engine: string | undefined;
  readonly link: string | undefined;
  readonly proof: string | undefined;
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
  /** The page of a durable reader's message, if it has other events too. */
  readonly #page: PageAcks | undefined;
  /** Names a body in the object store. */
  readonly #reference: string | undefined;
  #isSettled = false;

  /** For this library only. */
  constructor(bus: Bus, received: Received, read: ReadEvent, page?: PageAcks) {
    const { body, reference } = read;
    this.#bus = bus;
    this.#received = received;
    this.#page = page;
    this.#reference = reference;
    this.kind = read.kind;
    this.tag = read.tag;
    this.subject = received.subject;
    this.jid = read.jid;
    this.minion = read.minion;
    this.engine = read.engine;
    this.link = read.link;
    this.proof = read.proof;
    this.traced = read.traced;
    this.body = body;
    this.size = body?.length ?? sizeOfReference(reference ?? '') ?? 0;
    this.seq = received.seq;
    this.incarnation = received.incarnation;
    this.timeMs = Math.floor(received.timeUs / 1_000);
    this.deliveries = received.deliveries;
  }

  /** @throws BusError `BUS_BODY_GONE` and as `Inbox.request` does. */
  async fetch(): Promise<Uint8Array> {
    if (this.body !== undefined) return this.body;
    return getBody(this.#bus, 'evt', this.#reference ?? '');
  }

  /** Acknowledges: this durable reader is done with the event. */
  ack(): void {
    if (this.#page === undefined) this.#received.settle('+ACK');
    else this.#settle(this.#page, 'done');
  }

  /** The event could not be handled: it is delivered a few more times, then skipped. */
  failed(error: unknown): void {
    if (this.#page === undefined) this.#received.failed(error);
    else this.#settle(this.#page, { error });
  }

  /** The message as it stands in the stream, for quarantine when its body can not be fetched. */
  stray(why: unknown): Stray {
    return strayOf(STREAMS.events, this.#received, why);
  }

  /** Asks for the event again after `delayMs`. */
  nak(delayMs: number): void {
    if (this.#page === undefined) this.#received.settle(nakAfter(delayMs));
    else this.#settle(this.#page, { nakMs: delayMs });
  }

  #settle(page: PageAcks, outcome: Outcome): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    page.settle(outcome);
  }
}

/** The events at a sequence of the stream; none once they were purged. */
export async function eventsAt(bus: Bus, seq: number): Promise<readonly EventMessage[]> {
  const received = await readStored(bus, STREAMS.events, seq);
  return received === undefined ? [] : readEvents(bus, received, false);
}
