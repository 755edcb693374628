import type { Bus } from '../connection/connect.ts';
import { BusError } from '../connection/errors.ts';
import { isNewer, NEWER_RETRY_MS, NEWER_TRIES_MAX } from '../connection/message-version.ts';
import type { StreamName } from '../subjects/names.ts';
import { nakAfter } from './pull-feed.ts';
import type { KeepStray } from './stray.ts';
import { strayOf } from './stray.ts';
import type { ReaderSpec, ReadFrom, Received } from './stream-reader.ts';
import { StreamReader } from './stream-reader.ts';

/** The messages to read, and how the place is kept. */
export interface MessageReaderOptions<Kind extends string> extends Pick<
  ReaderSpec,
  'ackWaitMs' | 'extendsAckWait' | 'maxAckPending' | 'forgetAfterMs' | 'readAhead'
> {
  /** Only these kinds; default all. */
  readonly kinds?: readonly Kind[];
  /** Name of a durable consumer: the server keeps its place, and each message must be acked. */
  readonly durable?: string;
  /** Where to begin: default `all` for a durable reader (the first time), else `new`. */
  readonly from?: ReadFrom;
  /** Gets messages that can not be read. Without it the reader skips and counts them. */
  readonly keepStray?: KeepStray;
}

/** The common base of the readers of events and of publications. */
export abstract class MessageReader<Kind extends string> {
  readonly #stream: StreamName;
  readonly #reader: StreamReader;
  readonly #keepStray: KeepStray | undefined;
  protected readonly isDurable: boolean;
  #strays = 0;
  #newer = 0;

  protected constructor(
    bus: Bus,
    stream: StreamName,
    subjectOf: (kind: Kind) => string,
    options: MessageReaderOptions<Kind>,
  ) {
    const { kinds, from, keepStray, ...consumer } = options;
    this.#stream = stream;
    this.#keepStray = keepStray;
    this.isDurable = options.durable !== undefined;
    this.#reader = new StreamReader(bus, {
      ...consumer,
      stream,
      from: from ?? (this.isDurable ? 'all' : 'new'),
      ...(kinds === undefined ? {} : { filterSubjects: kinds.map(subjectOf) }),
    });
  }

  /** True while messages are being read. */
  get reading(): boolean {
    return this.#reader.reading;
  }

  /** The known reason why nothing is being read now. */
  get trouble(): string | undefined {
    return this.#reader.trouble;
  }

  /** How often the stream was replaced: recreated, or restored from a copy. */
  get resets(): number {
    return this.#reader.resets;
  }

  /** When the stream was made; undefined before it was found. */
  get incarnation(): string | undefined {
    return this.#reader.incarnation;
  }

  /** Messages that could not be read, and were skipped. */
  get strays(): number {
    return this.#strays;
  }

  /** Messages in a form that only a newer release reads; a durable reader leaves them to it. */
  get newer(): number {
    return this.#newer;
  }

  /** Ends the reading; the messages that are here can still be taken. */
  close(): void {
    this.#reader.close();
  }

  /** As {@link close}, but delivered messages stay in progress until they are settled or closed. */
  finish(): void {
    this.#reader.finish();
  }

  /** As `StreamReader.take`, without messages of a newer release. */
  protected async take(max: number, lingerMs = 0): Promise<readonly Received[]> {
    for (;;) {
      const received = await this.#reader.take(max, lingerMs);
      if (received.length === 0) return received;
      const readable = received.filter((one) => !isNewer(one.header) || this.#leave(one));
      if (readable.length > 0) return readable;
    }
  }

  /** Skips a message that can not be read. */
  protected pass(received: Received, why: unknown): void {
    this.#strays++;
    if (this.#keepStray === undefined) this.#reader.failed(received, why, true);
    else this.#keepStray(strayOf(this.#stream, received, why));
  }

  #leave(received: Received): false {
    this.#newer++;
    const isLeft = this.isDurable && received.deliveries < NEWER_TRIES_MAX;
    if (isLeft) received.settle(nakAfter(NEWER_RETRY_MS));
    else this.pass(received, new BusError('BUS_BAD_MESSAGE', 'a message of a newer release'));
    return false;
  }
}
