import { setTimeout as sleep } from 'node:timers/promises';
import { Wakeup } from '@brine/tasks';
import type { Bus } from '../connection/connect.ts';
import { BusError } from '../connection/errors.ts';
import { settledInfo, streamInfo } from '../connection/js-api.ts';
import { RETRY_MS as ASIDE_RETRY_MS, TRIES_MAX } from './asides.ts';
import { InProgressAcks } from './in-progress.ts';
import type { ConsumerSpec, Delivery } from './pull-feed.ts';
import { ACK_WAIT_MS, nakAfter, PullFeed } from './pull-feed.ts';

/** Where a reader begins. An existing durable reader resumes at its place instead. */
export type ReadFrom =
  | 'all'
  | 'new'
  | 'last'
  | {
      readonly seq: number;
      /** The stream that gave the sequence; a recreated stream is read from its start. */
      readonly incarnation?: string;
    }
  | { readonly timeMs: number };

/** The messages that a reader reads. */
export interface ReaderSpec extends Omit<ConsumerSpec, 'start' | 'incarnation'> {
  readonly from: ReadFrom;
  /**
   * For a durable reader that may work on a message longer than `ackWaitMs`: other readers of its
   * name get the message only when this one is dead.
   */
  readonly extendsAckWait?: boolean;
}

/** A delivery, and the incarnation of the stream it came from. */
export interface Received extends Delivery {
  readonly incarnation: string;
  /**
   * True if the server would have sent every message between the previous one and this. Missing
   * sequences are then of other subjects. Otherwise they may have been trimmed.
   */
  readonly followsOn: boolean;
  /**
   * Call this when the message could not be handled. A durable reader gets it again, up to {@link
   * TRIES_MAX} times. After that, and for other readers, it counts as skipped.
   */
  readonly failed: (error: unknown) => void;
}

const RETRY_MS = 250;
const CHECK_MS = 10_000;

/**
 * Reads a stream until it is closed, over reconnects, restarts and a stream that is recreated. The
 * server keeps the place of a durable consumer; for others this class remembers it. Every 10 s and
 * after a reconnect it compares the stream's incarnation and last sequence with what it has read.
 * Without that it would stay silent on a stream that was restored from an older copy.
 */
export class StreamReader {
  readonly #bus: Bus;
  readonly #spec: ReaderSpec;
  readonly #queue: { readonly received: Received; readonly feed: PullFeed | undefined }[] = [];
  readonly #inProgress: InProgressAcks | undefined;
  #feed: PullFeed | undefined;
  #isCaughtUp = false;
  /** True if the last delivery ended the stream, and the server could send the next one. */
  #hadAll = false;
  #incarnation: string | undefined;
  #lastSeq = 0;
  #lastTimeMs = 0;
  readonly #news = new Wakeup();
  #closed = false;
  #resets = 0;
  #error: BusError | undefined;
  #trouble: string | undefined;

  constructor(bus: Bus, spec: ReaderSpec) {
    this.#bus = bus;
    this.#spec = spec;
    // A stream with less than was read before was restored, even if no message came yet.
    if (spec.durable === undefined && typeof spec.from === 'object' && 'seq' in spec.from) {
      this.#lastSeq = Math.max(0, spec.from.seq - 1);
      this.#incarnation = spec.from.incarnation;
    }
    if (spec.extendsAckWait === true) {
      this.#inProgress = new InProgressAcks(bus, spec.ackWaitMs ?? ACK_WAIT_MS);
    }
    const stopListening = bus.onReconnect(() => this.#feed?.close());
    void bus.closed.then(() => this.close());
    const looksEachMs = Math.min(CHECK_MS, (spec.forgetAfterMs ?? Infinity) / 3);
    const timer = setInterval(() => {
      this.#stayKnown();
      void this.#check();
    }, looksEachMs);
    void this.#run()
      .catch((error: unknown) => {
        this.#error = error instanceof BusError ? error : undefined;
        this.#error ??= new BusError('BUS_REFUSED', 'the reader failed', error);
      })
      .finally(() => {
        clearInterval(timer);
        stopListening();
        this.finish();
      });
  }

  /** When the stream was made; undefined before it is known. */
  get incarnation(): string | undefined {
    return this.#incarnation;
  }

  /** How often the stream was replaced: recreated, or restored from a copy. */
  get resets(): number {
    return this.#resets;
  }

  /** True while messages are being read. */
  get reading(): boolean {
    return this.#feed !== undefined;
  }

  /**
   * True if all messages of the stream for this reader came; some may wait here. A durable reader
   * that acknowledges nothing more gets nothing more, and counts as caught up too.
   */
  get caughtUp(): boolean {
    return this.reading && this.#isCaughtUp;
  }

  /** The known reason why nothing is being read now. */
  get trouble(): string | undefined {
    return this.reading ? undefined : this.#trouble;
  }

  /** Messages that are here and have not been taken. */
  get waiting(): number {
    return this.#queue.length;
  }

  /**
   * Takes the messages that are here, up to `max`; waits for at least one, then up to `lingerMs`
   * for more. Empty only when closed.
   */
  async take(max: number, lingerMs = 0): Promise<readonly Received[]> {
    while (this.#queue.length === 0 && !this.#closed) await this.#news.wait();
    if (this.#error !== undefined && this.#queue.length === 0) throw this.#error;
    if (lingerMs > 0 && this.#queue.length < max && !this.#closed) await sleep(lingerMs);
    const taken = this.#queue.splice(0, max);
    for (const { feed } of taken) feed?.taken();
    return taken.map(({ received }) => received);
  }

  /** See {@link Received.failed}; with `atOnce` the message is not delivered again. */
  failed(delivery: Delivery, error: unknown, atOnce = false): void {
    const { stream, durable } = this.#spec;
    const { deliveries, settle, subject, seq } = delivery;
    if (!atOnce && durable !== undefined && deliveries < TRIES_MAX) {
      settle(nakAfter(ASIDE_RETRY_MS));
      return;
    }
    settle('+TERM');
    this.#bus.asides.add({ stream, reader: durable ?? 'live', subject, seq }, error);
  }

  /** Ends the reading; the messages that are here can still be taken. */
  close(): void {
    this.#inProgress?.close();
    this.finish();
  }

  /** As {@link close}, but delivered messages stay in progress until they are settled or closed. */
  finish(): void {
    this.#closed = true;
    this.#feed?.close();
    this.#news.wake();
  }

  async #run(): Promise<void> {
    while (!this.#closed) {
      try {
        await this.#readUntilItEnds();
      } catch (error) {
        if (!(error instanceof BusError) || error.code === 'BUS_FORBIDDEN') throw error;
        // The stream is unreachable, recreated or missing: the loop retries until it is closed.
        this.#trouble = error.message;
      }
      this.#feed = undefined;
      if (!this.#closed) await sleep(RETRY_MS);
    }
  }

  async #readUntilItEnds(): Promise<void> {
    const reached = { seq: this.#lastSeq, incarnation: this.#incarnation };
    const info = await settledInfo(this.#bus, this.#spec.stream, reached);
    if (info === undefined || this.#closed) return;
    const another = this.#incarnation !== undefined && this.#incarnation !== info.incarnation;
    if (another || info.lastSeq < this.#lastSeq) {
      this.#resets++;
      this.#lastSeq = 0;
    }
    // Messages that come before the consumer is made also count as new.
    if (this.#spec.from === 'new' && this.#incarnation === undefined) this.#lastSeq = info.lastSeq;
    this.#incarnation = info.incarnation;
    const { incarnation } = info;
    const spec = { ...this.#spec, incarnation, start: this.#start() };
    this.#isCaughtUp = false;
    this.#hadAll = false;
    const onDelivery = (delivery: Delivery): void => {
      this.#lastSeq = Math.max(this.#lastSeq, delivery.seq);
      this.#lastTimeMs = Math.max(this.#lastTimeMs, Math.floor(delivery.timeUs / 1_000));
      const followsOn = this.#hadAll;
      // With its read-ahead used up, a reader is not sent messages that are stored from now on.
      this.#hadAll = delivery.pending === 0 && feed.isAsking;
      this.#isCaughtUp = this.#hadAll;
      const settle = this.#inProgress?.until(delivery.settle) ?? delivery.settle;
      const failed = (error: unknown): void => this.failed(received, error);
      const received: Received = { ...delivery, settle, incarnation, followsOn, failed };
      this.#queue.push({ received, feed });
      this.#news.wake();
    };
    // The pending messages may be trimmed meanwhile: then no delivery reports that none are left.
    const onIdle = (): void => void (this.#isCaughtUp = true);
    const feed: PullFeed = await PullFeed.open(this.#bus, spec, onDelivery, onIdle);
    this.#feed = feed;
    if (feed.pendingAtStart === 0) this.#isCaughtUp = true;
    if (this.#closed) feed.close();
    const reason = await feed.ended;
    if (reason?.code === 'BUS_FORBIDDEN') throw reason;
  }

  /**
   * The server forgets a durable consumer that neither asks nor acknowledges. A reader with a full
   * queue does neither, so it reports its first message as in progress.
   */
  #stayKnown(): void {
    const { durable, forgetAfterMs, extendsAckWait } = this.#spec;
    if (durable === undefined || forgetAfterMs === undefined || extendsAckWait === true) return;
    if (this.#bus.status === 'connected') this.#queue[0]?.received.settle('+WPI');
  }

  async #check(): Promise<void> {
    if (this.#feed === undefined || this.#bus.status !== 'connected') return;
    const info = await streamInfo(this.#bus, this.#spec.stream).catch(() => undefined);
    // A missing answer proves nothing. The consumers of a deleted stream end by themselves.
    if (info === undefined) return;
    if (info.incarnation !== this.#incarnation || info.lastSeq < this.#lastSeq) this.#feed?.close();
  }

  #start(): Record<string, unknown> {
    const { from, durable } = this.#spec;
    if (this.#lastSeq > 0 && durable === undefined) {
      return { deliver_policy: 'by_start_sequence', opt_start_seq: this.#lastSeq + 1 };
    }
    // In a recreated or restored stream the sequences belong to other messages than before.
    const isAnother = this.#resets > 0;
    if (from === 'last') return { deliver_policy: 'last_per_subject' };
    if (from === 'all' || (isAnother && (from === 'new' || 'seq' in from))) {
      return { deliver_policy: 'all' };
    }
    if (from === 'new') return { deliver_policy: 'new' };
    if ('seq' in from) return { deliver_policy: 'by_start_sequence', opt_start_seq: from.seq };
    const time = new Date(Math.max(from.timeMs, this.#lastTimeMs)).toISOString();
    return { deliver_policy: 'by_start_time', opt_start_time: time };
  }
}
