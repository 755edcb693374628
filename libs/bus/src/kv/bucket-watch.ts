import { setTimeout as sleep } from 'node:timers/promises';
import type { Bus } from '../connection/connect.ts';
import { BusError } from '../connection/errors.ts';
import type { StreamInfo } from '../connection/js-api.ts';
import { streamInfo } from '../connection/js-api.ts';
import type { Delivery } from '../streams/pull-feed.ts';
import { PullFeed } from '../streams/pull-feed.ts';
import type { BucketKey } from '../subjects/escape.ts';
import type { BucketName } from '../subjects/names.ts';

/** One value of a bucket. */
export interface BucketEntry {
  readonly key: BucketKey;
  readonly value: Uint8Array;
  /** Grows with every change in the bucket; {@link Bucket.update} compares it. */
  readonly revision: number;
  /** When it was written, in ms since 1970. */
  readonly timeMs: number;
}

/** The callbacks of a watch, and its pace. */
export interface WatchOptions {
  /**
   * Called for every existing value, then for every change. If it throws, the watch skips that
   * value and counts it.
   */
  readonly onChange: (entry: BucketEntry) => void;
  /** The bucket was recreated or restored. Forget all values: they are delivered again. */
  readonly onReset: () => void;
  /** Called when {@link BucketWatch.ready} changes. */
  readonly onReady?: (ready: boolean) => void;
  /** How often the bucket is compared with what was received, in ms; default 10,000. */
  readonly checkMs?: number;
}

const RETRY_MS = 250;
/** A change that is missing for this long after a check was lost. */
const BEHIND_MS = 1_000;
const CHECK_MS = 10_000;

/**
 * Follows a bucket. A watch lags, and after a restore it would be stale without a sign. So every 10
 * s and after each reconnect it compares the bucket's incarnation and last sequence with what it
 * has received. If they differ, the watch is not ready, its user forgets all values, and it starts
 * over.
 */
export class BucketWatch {
  readonly #bus: Bus;
  readonly #name: BucketName;
  readonly #options: WatchOptions;
  readonly #stopListening: () => void;
  readonly #timer: NodeJS.Timeout;
  #feed: PullFeed | undefined;
  #incarnation: string | undefined;
  #seen = 0;
  #behindAt: number | undefined;
  #ready = false;
  #stale = false;
  #closed = false;
  #waiting: { readonly resolve: () => void; readonly reject: (error: Error) => void }[] = [];
  #error: BusError | undefined;
  #resets = 0;
  #trouble: string | undefined;

  constructor(bus: Bus, name: BucketName, options: WatchOptions) {
    this.#bus = bus;
    this.#name = name;
    this.#options = options;
    this.#stopListening = bus.onReconnect(() => this.#feed?.close());
    this.#timer = setInterval(() => void this.#check(), options.checkMs ?? CHECK_MS);
    void bus.closed.then(() => this.close());
    void this.#run().catch((error: unknown) => {
      this.#error = new BusError('BUS_REFUSED', `no watch of ${name}`, error);
      this.close();
    });
  }

  /** True if every value of the bucket has come. False while the connection is down. */
  get ready(): boolean {
    return this.#ready && this.#bus.status === 'connected';
  }

  /** Why it is not ready, as far as is known. */
  get trouble(): string | undefined {
    return this.ready ? undefined : this.#trouble;
  }

  /** How often {@link WatchOptions.onReset} was called. */
  get resets(): number {
    return this.#resets;
  }

  /**
   * Resolves once it is ready.
   * @throws BusError `BUS_CLOSED`, or what ended the watch.
   */
  whenReady(): Promise<void> {
    if (this.#ready) return Promise.resolve();
    if (this.#closed) return Promise.reject(this.#ending());
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
    });
  }

  /** Ends the watch. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    clearInterval(this.#timer);
    this.#stopListening();
    this.#feed?.close();
    this.#setReady(false);
    for (const { reject } of this.#waiting.splice(0)) reject(this.#ending());
  }

  #ending(): BusError {
    return this.#error ?? new BusError('BUS_CLOSED', 'the watch is closed');
  }

  async #run(): Promise<void> {
    while (!this.#closed) {
      try {
        await this.#watchUntilItEnds();
      } catch (error) {
        if (!(error instanceof BusError) || error.code === 'BUS_FORBIDDEN') throw error;
        // The server or the bucket is unreachable. The loop retries until the watch is closed.
        this.#trouble = error.message;
      }
      this.#feed = undefined;
      this.#setReady(false);
      if (!this.#closed) await sleep(RETRY_MS);
    }
  }

  async #watchUntilItEnds(): Promise<void> {
    const stream = `KV_${this.#name}`;
    const info = await streamInfo(this.#bus, stream);
    if (info === undefined || this.#closed) return;
    if (this.#isAnother(info)) this.#forget();
    const { incarnation } = info;
    this.#incarnation = incarnation;
    const goOn = this.#seen > 0;
    const start = goOn
      ? { deliver_policy: 'by_start_sequence', opt_start_seq: this.#seen + 1 }
      : { deliver_policy: 'last_per_subject' };
    const feed = await PullFeed.open(this.#bus, { stream, incarnation, start }, (delivery) =>
      this.#take(delivery),
    );
    this.#feed = feed;
    if (this.#closed) feed.close();
    else if (feed.pendingAtStart === 0) {
      this.#seen = Math.max(this.#seen, info.lastSeq);
      this.#setReady(true);
    }
    const reason = await feed.ended;
    if (reason?.code === 'BUS_FORBIDDEN') throw reason;
  }

  #take(delivery: Delivery): void {
    const { seq, subject, data, timeUs, pending } = delivery;
    this.#seen = seq;
    try {
      this.#options.onChange({
        key: subject.slice(`$KV.${this.#name}.`.length) as BucketKey,
        value: data,
        revision: seq,
        timeMs: Math.floor(timeUs / 1_000),
      });
    } catch (error) {
      this.#bus.asides.add({ stream: `KV_${this.#name}`, reader: 'live', subject, seq }, error);
    }
    this.#feed?.taken();
    if (pending === 0) this.#setReady(true);
  }

  #isAnother(info: StreamInfo): boolean {
    if (this.#stale) return true;
    if (this.#incarnation === undefined) return false;
    return this.#incarnation !== info.incarnation || info.lastSeq < this.#seen;
  }

  #forget(): void {
    this.#stale = false;
    this.#seen = 0;
    this.#behindAt = undefined;
    this.#resets++;
    this.#setReady(false);
    this.#options.onReset();
  }

  async #check(): Promise<void> {
    const feed = this.#feed;
    if (feed === undefined || this.#bus.status !== 'connected') return;
    // A missing answer proves nothing. The feed notices by itself when it receives no more.
    const info = await streamInfo(this.#bus, `KV_${this.#name}`).catch(() => undefined);
    if (info === undefined || feed !== this.#feed) return;
    if (this.#isAnother(info)) {
      this.#setReady(false);
      feed.close();
      return;
    }
    if (info.lastSeq <= this.#seen || !this.#ready) {
      this.#behindAt = undefined;
      return;
    }
    if (this.#behindAt !== undefined && this.#seen < this.#behindAt) {
      // There were changes that never came.
      this.#stale = true;
      this.#setReady(false);
      feed.close();
      return;
    }
    this.#behindAt = info.lastSeq;
    setTimeout(() => void this.#check(), BEHIND_MS).unref();
  }

  #setReady(ready: boolean): void {
    if (this.#ready === ready) return;
    this.#ready = ready;
    if (ready) for (const { resolve } of this.#waiting.splice(0)) resolve();
    this.#options.onReady?.(ready);
  }
}
