import type { Bus } from './connect.ts';
import { BusError } from './errors.ts';
import { isNewer, NEWER_RETRY_MS } from './message-version.ts';
import { STREAMS, subjects } from './names.ts';
import type { PublicationKind } from './names.ts';
import { readPublished } from './published.ts';
import type { Published } from './published.ts';
import { StreamReader } from './stream-reader.ts';
import type { ReadFrom, Received } from './stream-reader.ts';

/** What to read, and how the place is kept. */
export interface PublicationReaderOptions {
  /** Only these kinds; default all. Workers read markers only. */
  readonly kinds?: readonly PublicationKind[];
  /**
   * Name of a durable consumer: its place is kept by the server, and each message must be acked.
   */
  readonly durable?: string;
  /**
   * Where to begin: default `all` for a durable reader (the first time), else `new`. `last` begins
   * with the last message of each kind.
   */
  readonly from?: ReadFrom;
  readonly ackWaitMs?: number;
  /** What it has in its hands is its own, however long, until it is dead. */
  readonly holds?: boolean;
  readonly maxAckPending?: number;
  /** A durable place that nobody used for so long is forgotten, in ms; default never. */
  readonly forgetAfterMs?: number;
}

/** A body that cannot be fetched just now is tried for so long before it is passed over. */
const FETCH_TRIES = 20;
const FETCH_RETRY_MS = 500;

/** Reads PUBLICATIONS in order. */
export class PublicationReader implements AsyncIterable<Published> {
  readonly #bus: Bus;
  readonly #reader: StreamReader;
  #strays = 0;
  #newer = 0;
  #closed = false;

  constructor(bus: Bus, options: PublicationReaderOptions = {}) {
    const { kinds, from, ...consumer } = options;
    this.#bus = bus;
    this.#reader = new StreamReader(bus, {
      ...consumer,
      stream: STREAMS.publications,
      from: from ?? (options.durable === undefined ? 'new' : 'all'),
      ...(kinds === undefined ? {} : { filterSubjects: kinds.map(subjects.publication) }),
    });
  }

  /** Whether publications are being read just now. */
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

  /** Messages in the stream that were none of ours or had lost their body, and were passed over. */
  get strays(): number {
    return this.#strays;
  }

  /** Messages in a form that only a newer release reads; a durable reader leaves them to it. */
  get newer(): number {
    return this.#newer;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Published, void> {
    for (;;) {
      const [received] = await this.#reader.take(1);
      if (received === undefined) return;
      if (isNewer(received.header)) {
        this.#newer++;
        received.settle(`-NAK {"delay":${NEWER_RETRY_MS * 1e6}}`);
        continue;
      }
      const published = await this.#read(received);
      if (published !== undefined) yield published;
    }
  }

  /** Ends the reading; the iterator ends after what is here. */
  close(): void {
    this.#closed = true;
    this.#reader.close();
  }

  async #read(received: Received): Promise<Published | undefined> {
    for (let tries = 1; ; tries++) {
      try {
        const published = await readPublished(this.#bus, received);
        if (published === undefined) this.#pass(received);
        return published;
      } catch (error) {
        const retryable = error instanceof BusError && error.retryable;
        if (!retryable && !(error instanceof BusError && error.code === 'BUS_BODY_GONE')) {
          throw error;
        }
        if (!retryable || tries === FETCH_TRIES || this.#closed) {
          this.#pass(received);
          return undefined;
        }
        await new Promise((resolve) => setTimeout(resolve, FETCH_RETRY_MS));
      }
    }
  }

  #pass(received: Received): void {
    this.#strays++;
    received.settle('+TERM');
  }
}
