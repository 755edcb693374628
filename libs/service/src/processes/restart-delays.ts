/** Waits before a service is started again: at once, then longer and longer. */
const DELAYS_MS = [0, 200, 500, 1000, 2000, 5000];

/** A service that lived this long has earned a fresh start of the list. */
const STEADY_MS = 30_000;

/** Says how long to wait before the next start. It never gives up: the last delay repeats. */
export class RestartDelays {
  #failures = 0;

  /** @param livedMs how long the process that just ended had lived. */
  next(livedMs: number): number {
    if (livedMs >= STEADY_MS) this.#failures = 0;
    const delay = DELAYS_MS[Math.min(this.#failures, DELAYS_MS.length - 1)] ?? 0;
    this.#failures += 1;
    return delay;
  }
}
