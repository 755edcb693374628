import type { Bus } from '../connection/connect.ts';
import { BusError } from '../connection/errors.ts';
import { isNewer, NEWER_RETRY_MS, NEWER_TRIES_MAX } from '../connection/message-version.ts';
import type { KeepStray } from '../streams/stray.ts';
import { strayOf } from '../streams/stray.ts';
import type { ReadFrom, Received } from '../streams/stream-reader.ts';
import { StreamReader } from '../streams/stream-reader.ts';
import type { EventKind } from '../subjects/names.ts';
import { STREAMS, subjects } from '../subjects/names.ts';
import { StoredEvent } from './stored-event.ts';

/** What to read, and how the place is kept. */
export interface EventReaderOptions {
  /** Only these kinds; default all. */
  readonly kinds?: readonly EventKind[];
  /** Name of a durable consumer: its place is kept by the server, and each event must be acked. */
  readonly durable?: string;
  /** Where to begin, default `all` for a durable reader (the first time), else `new`. */
  readonly from?: ReadFrom;
  readonly ackWaitMs?: number;
  /** What it has in its hands is its own, however long, until it is dead. */
  readonly holds?: boolean;
  readonly maxAckPending?: number;
  /** A durable place that nobody used for so long is forgotten, in ms; default never. */
  readonly forgetAfterMs?: number;
  /** Gets what can not be read; without it that is passed over, counted and told. */
  readonly keepStray?: KeepStray;
}

/** Taken at once for a reader that asks one by one: a turn of the reader for each costs as much. */
const ITERATED = 64;

/**
 * Reads EVENTS in order. A durable reader gets what was not acked again; several processes may
 * share one durable name. Without one every reader gets every event, and acks do nothing.
 */
export class EventReader implements AsyncIterable<StoredEvent> {
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

  /** How often the stream turned out to be another: made anew, or put back from an older copy. */
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

  async *[Symbol.asyncIterator](): AsyncGenerator<StoredEvent, void> {
    for await (const batch of this.batches(ITERATED)) yield* batch;
  }

  /**
   * The events in groups: what is here, at least one and at most `max`. A group that is not full
   * waits `lingerMs` for more.
   */
  async *batches(max: number, lingerMs = 0): AsyncGenerator<readonly StoredEvent[], void> {
    for (;;) {
      const received = await this.#reader.take(max, lingerMs);
      if (received.length === 0) return;
      const events: StoredEvent[] = [];
      for (const one of received) {
        if (isNewer(one.header)) {
          this.#newer++;
          const isLeft = this.#isDurable && one.deliveries < NEWER_TRIES_MAX;
          if (isLeft) one.settle(`-NAK {"delay":${NEWER_RETRY_MS * 1e6}}`);
          else this.#pass(one, new BusError('BUS_BAD_MESSAGE', 'an event of a newer release'));
          continue;
        }
        const event = StoredEvent.read(this.#bus, one);
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
