/**
 * The times of the wakes. The first is for a CLI on an idle host, the later ones for a CLI that a
 * busy host has kept from its socket. After that the CLI polls by itself (`timeout`, 5 s).
 */
const WAKES_MS = [50, 150, 400, 1000, 2500] as const;

/** Calls back a few times after the last `start`, at growing intervals. */
export class LateWakes {
  readonly #wake: () => void;
  #timer: NodeJS.Timeout | undefined;
  #startedAt = 0;
  #next = 0;

  constructor(wake: () => void) {
    this.#wake = wake;
  }

  /** Starts again from the first wake. */
  start(): void {
    this.#startedAt = performance.now();
    this.#next = 0;
    // A running timer fires early for the new start, and then waits for the rest.
    if (this.#timer === undefined) this.#arm(WAKES_MS[0]);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #arm(delayMs: number): void {
    this.#timer = setTimeout(() => this.#fire(), delayMs);
    this.#timer.unref();
  }

  #fire(): void {
    this.#timer = undefined;
    const passed = performance.now() - this.#startedAt;
    const due = WAKES_MS[this.#next];
    if (due === undefined) return;
    if (passed < due - 1) return this.#arm(due - passed);
    this.#next += 1;
    this.#wake();
    const following = WAKES_MS[this.#next];
    if (following !== undefined) this.#arm(following - passed);
  }
}
