import type { Bus } from '../connection/connect.ts';
import type { Delivery } from './pull-feed.ts';

interface Unsettled {
  readonly settle: Delivery['settle'];
  readonly sinceMs: number;
}

/**
 * Extends the ack wait of messages that a durable reader works on or has read ahead (`+WPI`).
 * Without that JetStream would also deliver them to another reader of the same name. A dead reader
 * extends nothing, so its messages go to others after the wait.
 */
export class InProgressAcks {
  readonly #bus: Bus;
  readonly #everyMs: number;
  readonly #timer: NodeJS.Timeout;
  readonly #unsettled = new Set<Unsettled>();

  constructor(bus: Bus, ackWaitMs: number) {
    this.#bus = bus;
    // Two of three may be lost.
    this.#everyMs = ackWaitMs / 3;
    this.#timer = setInterval(() => this.#extend(), this.#everyMs);
    this.#timer.unref();
  }

  /** Extends the wait of a message until the returned `settle` is called. */
  until(settle: Delivery['settle']): Delivery['settle'] {
    const unsettled: Unsettled = { settle, sinceMs: performance.now() };
    this.#unsettled.add(unsettled);
    return (how) => {
      this.#unsettled.delete(unsettled);
      settle(how);
    };
  }

  /** Stops extending. */
  close(): void {
    clearInterval(this.#timer);
  }

  #extend(): void {
    if (this.#bus.status !== 'connected') return;
    const before = performance.now() - this.#everyMs / 2;
    for (const { settle, sinceMs } of this.#unsettled) if (sinceMs < before) settle('+WPI');
  }
}
