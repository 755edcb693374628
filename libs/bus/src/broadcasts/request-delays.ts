import type { Bus } from '../connection/connect.ts';
import { publish } from '../connection/inbox.ts';
import { subjects } from '../subjects/names.ts';

/** How often a gateway announces it, ms. */
const EVERY_MS = 1_000;
/** Further requests within that time are not measured. */
const SAMPLES_MAX = 1_000;
/** Above it requests wait, ms: on an idle host a return takes some 10 ms from port to answer. */
const LONG_MS = 100;
/** A delay is valid for this long, ms: a gateway without requests announces none. */
const BELIEVED_MS = 3 * EVERY_MS;

/** How long sealed requests took at a gateway; it announces their median each second. */
export class RequestDelays {
  readonly #bus: Bus;
  readonly #timer: NodeJS.Timeout;
  #samples: number[] = [];

  constructor(bus: Bus) {
    this.#bus = bus;
    this.#timer = setInterval(() => this.#announce(), EVERY_MS);
    this.#timer.unref();
  }

  /** Notes how long an answered request took, in ms. */
  add(ms: number): void {
    if (this.#samples.length < SAMPLES_MAX) this.#samples.push(ms);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #announce(): void {
    const samples = this.#samples.sort((a, b) => a - b);
    this.#samples = [];
    const median = samples[Math.floor(samples.length / 2)];
    if (median === undefined || this.#bus.status !== 'connected') return;
    publish(this.#bus.connection, subjects.delay, JSON.stringify(median));
  }
}

/** Follows the announcements of all gateways; reports whether requests wait at any of them. */
export class WaitingRequests {
  readonly #now: () => number;
  #longAt = -Infinity;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  get areSlow(): boolean {
    return this.#now() - this.#longAt < BELIEVED_MS;
  }

  /** Follows the announcements until the returned function is called. */
  follow(bus: Bus): () => void {
    const subscription = bus.connection.subscribe(subjects.delay, {
      callback: (_error, msg) => this.announced(msg.data),
    });
    return () => {
      if (!bus.connection.isClosed()) subscription.unsubscribe();
    };
  }

  /** Takes an announcement. */
  announced(data: Uint8Array): void {
    if (Number(Buffer.from(data).toString('latin1')) > LONG_MS) this.#longAt = this.#now();
  }
}
