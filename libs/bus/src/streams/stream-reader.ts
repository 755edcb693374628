import { setTimeout as sleep } from 'node:timers/promises';
import type { Bus } from '../connection/connect.ts';
import { BusError } from '../connection/errors.ts';
import { streamInfo } from '../connection/js-api.ts';
import { RETRY_MS as ASIDE_RETRY_MS, TRIES_MAX } from './asides.ts';
import type { ConsumerSpec, Delivery } from './pull-feed.ts';
import { ACK_WAIT_MS, PullFeed } from './pull-feed.ts';
import { HeldDeliveries } from './unacknowledged.ts';

/** Where a reader begins. A durable one that was there before goes on from its place instead. */
export type ReadFrom =
  'all' | 'new' | 'last' | { readonly seq: number } | { readonly timeMs: number };

/** What a reader wants read. */
export interface ReaderSpec extends Omit<ConsumerSpec, 'start'> {
  readonly from: ReadFrom;
  /**
   * A durable reader that may keep things in its hands longer than `ackWaitMs`: others get them
   * only when it is dead.
   */
  readonly holds?: boolean;
}

/** A delivery, and the incarnation of the stream it came from. */
export interface Received extends Delivery {
  readonly incarnation: string;
  /**
   * Tells that it could not be handled. A durable reader gets it again, some times; then, or where
   * there is no again, the reader goes on without it, which is counted and told.
   */
  readonly failed: (error: unknown) => void;
}

const RETRY_MS = 250;
const CHECK_MS = 10_000;

/**
 * Reads a stream for as long as it is wanted, over reconnects, restarts and a stream made anew. For
 * one-process readers it remembers the place; a durable consumer's place is kept by the server.
 * Every 10 s and after a reconnect it compares the stream's incarnation and last sequence with what
 * it has seen: a reader of a stream that was restored from an older copy is otherwise silent.
 */
export class StreamReader {
  readonly #bus: Bus;
  readonly #spec: ReaderSpec;
  readonly #queue: { readonly received: Received; readonly feed: PullFeed | undefined }[] = [];
  readonly #held: HeldDeliveries | undefined;
  #feed: PullFeed | undefined;
  #incarnation: string | undefined;
  #lastSeq = 0;
  #lastTimeMs = 0;
  #wake: (() => void) | undefined;
  #closed = false;
  #resets = 0;
  #error: BusError | undefined;
  #trouble: string | undefined;

  constructor(bus: Bus, spec: ReaderSpec) {
    this.#bus = bus;
    this.#spec = spec;
    if (spec.holds === true) this.#held = new HeldDeliveries(bus, spec.ackWaitMs ?? ACK_WAIT_MS);
    const stopListening = bus.onReconnect(() => this.#feed?.close());
    void bus.closed.then(() => this.close());
    const timer = setInterval(() => void this.#check(), CHECK_MS);
    void this.#run()
      .catch((error: unknown) => {
        this.#error = error instanceof BusError ? error : undefined;
        this.#error ??= new BusError('BUS_REFUSED', 'the reader failed', error);
      })
      .finally(() => {
        clearInterval(timer);
        stopListening();
        this.close();
      });
  }

  /** Which life of the stream is being read; undefined before it was found. */
  get incarnation(): string | undefined {
    return this.#incarnation;
  }

  /** How often the stream was found to be another than before. */
  get resets(): number {
    return this.#resets;
  }

  /** Whether messages are being read just now. */
  get reading(): boolean {
    return this.#feed !== undefined;
  }

  /** Why nothing is being read just now, as far as is known. */
  get trouble(): string | undefined {
    return this.reading ? undefined : this.#trouble;
  }

  /** Messages that are here and have not been taken. */
  get waiting(): number {
    return this.#queue.length;
  }

  /**
   * Takes what is here, up to `max`; waits for at least one, then up to `lingerMs` for more. Empty
   * only when closed.
   */
  async take(max: number, lingerMs = 0): Promise<readonly Received[]> {
    while (this.#queue.length === 0 && !this.#closed) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    if (this.#error !== undefined && this.#queue.length === 0) throw this.#error;
    if (lingerMs > 0 && this.#queue.length < max && !this.#closed) await sleep(lingerMs);
    const taken = this.#queue.splice(0, max);
    for (const { feed } of taken) feed?.taken();
    return taken.map(({ received }) => received);
  }

  /** See {@link Received.failed}; with `atOnce` it does not come again. */
  failed(delivery: Delivery, error: unknown, atOnce = false): void {
    const { stream, durable } = this.#spec;
    const { deliveries, settle, subject, seq } = delivery;
    if (!atOnce && durable !== undefined && deliveries < TRIES_MAX) {
      settle(`-NAK {"delay":${ASIDE_RETRY_MS * 1e6}}`);
      return;
    }
    settle('+TERM');
    this.#bus.asides.add({ stream, reader: durable ?? 'live', subject, seq }, error);
  }

  /** Ends the reading; what is here can still be taken. */
  close(): void {
    this.#closed = true;
    this.#held?.close();
    this.#feed?.close();
    this.#wakeUp();
  }

  #wakeUp(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }

  async #run(): Promise<void> {
    while (!this.#closed) {
      try {
        await this.#readUntilItEnds();
      } catch (error) {
        if (!(error instanceof BusError) || error.code === 'BUS_FORBIDDEN') throw error;
        // Away, made anew or not made yet: looked at again below, for as long as we are wanted.
        this.#trouble = error.message;
      }
      this.#feed = undefined;
      if (!this.#closed) await sleep(RETRY_MS);
    }
  }

  async #readUntilItEnds(): Promise<void> {
    const info = await streamInfo(this.#bus, this.#spec.stream);
    if (info === undefined || this.#closed) return;
    const another = this.#incarnation !== undefined && this.#incarnation !== info.incarnation;
    if (another || info.lastSeq < this.#lastSeq) {
      this.#resets++;
      this.#lastSeq = 0;
    }
    // What comes between this look and the consumer's making is new too.
    if (this.#spec.from === 'new' && this.#incarnation === undefined) this.#lastSeq = info.lastSeq;
    this.#incarnation = info.incarnation;
    const spec = { ...this.#spec, start: this.#start() };
    const { incarnation } = info;
    const feed: PullFeed = await PullFeed.open(this.#bus, spec, (delivery) => {
      this.#lastSeq = Math.max(this.#lastSeq, delivery.seq);
      this.#lastTimeMs = Math.max(this.#lastTimeMs, Math.floor(delivery.timeUs / 1_000));
      const held = this.#held?.hold(delivery) ?? delivery;
      const failed = (error: unknown): void => this.failed(held, error);
      this.#queue.push({ received: { ...held, incarnation, failed }, feed });
      this.#wakeUp();
    });
    this.#feed = feed;
    if (this.#closed) feed.close();
    const reason = await feed.ended;
    if (reason?.code === 'BUS_FORBIDDEN') throw reason;
  }

  async #check(): Promise<void> {
    if (this.#feed === undefined || this.#bus.status !== 'connected') return;
    const info = await streamInfo(this.#bus, this.#spec.stream).catch(() => undefined);
    // No answer says nothing; a stream that is gone ends its consumers by itself.
    if (info === undefined) return;
    if (info.incarnation !== this.#incarnation || info.lastSeq < this.#lastSeq) this.#feed?.close();
  }

  #start(): Record<string, unknown> {
    const { from, durable } = this.#spec;
    if (this.#lastSeq > 0 && durable === undefined) {
      return { deliver_policy: 'by_start_sequence', opt_start_seq: this.#lastSeq + 1 };
    }
    // A stream that was made anew or put back: its sequences mean other messages than before.
    const anew = this.#resets > 0;
    if (from === 'last') return { deliver_policy: 'last_per_subject' };
    if (from === 'all' || (anew && (from === 'new' || 'seq' in from))) {
      return { deliver_policy: 'all' };
    }
    if (from === 'new') return { deliver_policy: 'new' };
    if ('seq' in from) return { deliver_policy: 'by_start_sequence', opt_start_seq: from.seq };
    const time = new Date(Math.max(from.timeMs, this.#lastTimeMs)).toISOString();
    return { deliver_policy: 'by_start_time', opt_start_time: time };
  }
}
