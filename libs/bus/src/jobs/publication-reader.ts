import { setTimeout as sleep } from 'node:timers/promises';
import type { Bus } from '../connection/connect.ts';
import { BusError } from '../connection/errors.ts';
import { streamInfo } from '../connection/js-api.ts';
import type { MessageReaderOptions } from '../streams/message-reader.ts';
import { MessageReader } from '../streams/message-reader.ts';
import { nakAfter } from '../streams/pull-feed.ts';
import type { ReadFrom, Received } from '../streams/stream-reader.ts';
import { StreamReader } from '../streams/stream-reader.ts';
import type { PublicationKind } from '../subjects/names.ts';
import { isPublicationKind, STREAMS, subjects } from '../subjects/names.ts';
import type { Published } from './publication.ts';
import { readPublished } from './publication.ts';

/**
 * How often a body that can not be fetched is tried before the next message is read. A durable
 * reader gets the message again then; a reader without a place skips it.
 */
const FETCH_TRIES = 20;
const FETCH_RETRY_MS = 500;

/** Reads PUBLICATIONS in order. */
export class PublicationReader
  extends MessageReader<PublicationKind>
  implements AsyncIterable<Published>
{
  readonly #bus: Bus;
  #closed = false;

  constructor(bus: Bus, options: MessageReaderOptions<PublicationKind> = {}) {
    super(bus, STREAMS.publications, subjects.publication, options);
    this.#bus = bus;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Published, void> {
    for (;;) {
      const [received] = await this.take(1);
      if (received === undefined) return;
      const published = await this.#read(received);
      if (published !== undefined) yield published;
    }
  }

  override close(): void {
    this.#closed = true;
    super.close();
  }

  async #read(received: Received): Promise<Published | undefined> {
    for (let tries = 1; ; tries++) {
      try {
        const published = await readPublished(this.#bus, received);
        if (published === undefined) this.pass(received, bad('no publication of ours'));
        return published;
      } catch (error) {
        const isBusError = error instanceof BusError;
        if (isBusError && error.code === 'BUS_FORBIDDEN') throw error;
        // The reader ends with its connection; other readers get the message.
        if (isBusError && error.code === 'BUS_CLOSED') return undefined;
        if (!isBusError || !error.retryable) {
          this.pass(received, error);
          return undefined;
        }
        if (tries === FETCH_TRIES || this.#closed) {
          if (this.isDurable) received.settle(nakAfter(FETCH_RETRY_MS));
          else this.pass(received, error);
          return undefined;
        }
        await sleep(FETCH_RETRY_MS);
      }
    }
  }
}

function bad(text: string): BusError {
  return new BusError('BUS_BAD_MESSAGE', text);
}

/** When one message of PUBLICATIONS was stored. */
export interface PublicationTime {
  readonly seq: number;
  readonly kind: PublicationKind;
  /** In microseconds since 1970. */
  readonly timeUs: number;
}

/** The last messages of PUBLICATIONS, without their content. */
export interface PublicationTimes {
  /** In stream order; every message from the first one here up to `lastSeq`. */
  readonly times: readonly PublicationTime[];
  /** The stream's last sequence when it was read; 0 if it never stored anything. */
  readonly lastSeq: number;
}

/** Messages looked back over at most; to read more would take minutes. */
const MAX_LOOK_BACK = 100_000;
const READ_TIMEOUT_MS = 30_000;

/**
 * Reads when the last messages were stored: at least `count` of them, and all since `sinceMs`.
 * @throws BusError `BUS_STREAM_AWAY` where there is no stream, `BUS_TIMEOUT`, `BUS_CLOSED`.
 */
export async function readPublicationTimes(
  bus: Bus,
  want: { readonly count: number; readonly sinceMs: number },
): Promise<PublicationTimes> {
  const info = await streamInfo(bus, STREAMS.publications);
  if (info === undefined) throw new BusError('BUS_STREAM_AWAY', 'no stream of publications');
  const { firstSeq, lastSeq, incarnation } = info;
  if (info.messages === 0) return { times: [], lastSeq };
  for (let count = want.count; ; count *= 4) {
    const from = Math.max(firstSeq, lastSeq - count + 1);
    const times = await readTimes(bus, { seq: from, incarnation }, lastSeq);
    const reaches = (times[0]?.timeUs ?? 0) < want.sinceMs * 1_000;
    if (reaches || from === firstSeq || count >= MAX_LOOK_BACK) return { times, lastSeq };
  }
}

async function readTimes(bus: Bus, from: ReadFrom, lastSeq: number): Promise<PublicationTime[]> {
  const reader = new StreamReader(bus, { stream: STREAMS.publications, from, headersOnly: true });
  const timer = setTimeout(() => reader.close(), READ_TIMEOUT_MS);
  const times: PublicationTime[] = [];
  try {
    for (;;) {
      const batch = await reader.take(1_000);
      if (batch.length === 0)
        throw new BusError('BUS_TIMEOUT', 'publications were not read in time');
      for (const { seq, subject, timeUs, pending } of batch) {
        const kind = subject.split('.')[2] ?? '';
        if (isPublicationKind(kind)) times.push({ seq, kind, timeUs });
        if (seq >= lastSeq || pending === 0) return times;
      }
    }
  } finally {
    clearTimeout(timer);
    reader.close();
  }
}
