// A stock minion signs in 10 to 140 ms after a refused request; more than this is another cause.
const REMEMBER_MS = 10_000;
const MAX_MINIONS = 10_000;

/**
 * Minions whose sealed request was just answered `bad load`: their next log-in is the one that a
 * return waits for, so it goes before those of minions that only start.
 */
export class RefusedMinions {
  readonly #at = new Map<string, number>();

  add(minion: string | undefined): void {
    if (minion === undefined) return;
    this.#at.delete(minion);
    this.#at.set(minion, performance.now());
    if (this.#at.size <= MAX_MINIONS) return;
    for (const oldest of this.#at.keys()) {
      this.#at.delete(oldest);
      break;
    }
  }

  /** Whether a log-in of this minion is one that a request waits for; forgets it. */
  take(minion: string | undefined): boolean {
    if (minion === undefined) return false;
    const at = this.#at.get(minion);
    if (at === undefined) return false;
    this.#at.delete(minion);
    return performance.now() - at < REMEMBER_MS;
  }
}
