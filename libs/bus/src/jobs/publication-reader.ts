import type { Bus } from '../connection/connect.ts';
import { BusError } from '../connection/errors.ts';
import { isNewer, NEWER_RETRY_MS, NEWER_TRIES_MAX } from '../connection/message-version.ts';
import type { KeepStray } from '../streams/stray.ts';
import { strayOf } from '../streams/stray.ts';
import type { ReadFrom, Received } from '../streams/stream-reader.ts';
import { StreamReader } from '../streams/stream-reader.ts';
import type { PublicationKind } from '../subjects/names.ts';
import { STREAMS, subjects } from '../subjects/names.ts';
import type { Published } from './publication.ts';
import { readPublished } from './publication.ts';

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
  /** Gets what can not be read; without it that is passed over, counted and told. */
  readonly keepStray?: KeepStray;
}

/**
 * A body that can not be fetched just now is tried for so long before the next message is read.
 * A durable reader gets it again then; of one without a place it is passed over.
 */
const FETCH_TRIES = 20;
const FETCH_RETRY_MS = 500;

/** Reads PUBLICATIONS in order. */
export class PublicationReader implements AsyncIterable<Published> {
  readonly #bus: Bus;
  readonly #reader: StreamReader;
  readonly #keepStray: KeepStray | undefined;
  readonly #isDurable: boolean;
  #strays = 0;
  #newer = 0;
  #closed = false;

  constructor(bus: Bus, options: PublicationReaderOptions = {}) {
    const { kinds, from, keepStray, ...consumer } = options;
    this.#bus = bus;
    this.#keepStray = keepStray;
    this.#isDurable = options.durable !== undefined;
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
        const isLeft = this.#isDurable && received.deliveries < NEWER_TRIES_MAX;
        if (isLeft) received.settle(`-NAK {"delay":${NEWER_RETRY_MS * 1e6}}`);
        else this.#pass(received, bad('a publication of a newer release'));
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
        if (published === undefined) this.#pass(received, bad('no publication of ours'));
        return published;
      } catch (error) {
        const isBusError = error instanceof BusError;
        if (isBusError && error.code === 'BUS_FORBIDDEN') throw error;
        // The reader ends with its connection; the message is for others.
        if (isBusError && error.code === 'BUS_CLOSED') return undefined;
        if (!isBusError || !error.retryable) {
          this.#pass(received, error);
          return undefined;
        }
        if (tries === FETCH_TRIES || this.#closed) {
          if (this.#isDurable) received.settle(`-NAK {"delay":${FETCH_RETRY_MS * 1e6}}`);
          else this.#pass(received, error);
          return undefined;
        }
        await new Promise((resolve) => setTimeout(resolve, FETCH_RETRY_MS));
      }
    }
  }

  #pass(received: Received, why: unknown): void {
    this.#strays++;
    if (this.#keepStray === undefined) this.#reader.failed(received, why, true);
    else this.#keepStray(strayOf(STREAMS.publications, received, why));
  }
}

function bad(text: string): BusError {
  return new BusError('BUS_BAD_MESSAGE', text);
}
