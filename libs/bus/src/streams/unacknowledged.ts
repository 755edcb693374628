import type { Bus } from '../connection/connect.ts';
import type { Delivery } from './pull-feed.ts';

interface Held {
  readonly settle: Delivery['settle'];
  readonly sinceMs: number;
}

/**
 * What a durable reader has in its hands, read ahead or being worked on: JetStream is told so in
 * time (`+WPI`), or it would hand the same to another reader of that name, and both would do it. A
 * reader that died tells nothing, and what it had goes to others after the wait.
 */
export class HeldDeliveries {
  readonly #bus: Bus;
  readonly #everyMs: number;
  readonly #timer: NodeJS.Timeout;
  readonly #held = new Set<Held>();

  constructor(bus: Bus, ackWaitMs: number) {
    this.#bus = bus;
    // One word in three may be lost.
    this.#everyMs = ackWaitMs / 3;
    this.#timer = setInterval(() => this.#tell(), this.#everyMs);
    this.#timer.unref();
  }

  /** The delivery, held until it is settled. */
  hold(delivery: Delivery): Delivery {
    const { settle } = delivery;
    const held: Held = { settle, sinceMs: performance.now() };
    this.#held.add(held);
    return {
      ...delivery,
      settle: (how) => {
        this.#held.delete(held);
        settle(how);
      },
    };
  }

  /** What is held from now on is missed after the wait. */
  close(): void {
    clearInterval(this.#timer);
  }

  #tell(): void {
    if (this.#bus.status !== 'connected') return;
    const before = performance.now() - this.#everyMs / 2;
    for (const { settle, sinceMs } of this.#held) if (sinceMs < before) settle('+WPI');
  }
}
