import { LIMITS } from '@brine/bus/rpc';

const { urgentForMs, urgentMinions } = LIMITS.login;

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
    if (this.#at.size <= urgentMinions) return;
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
    return performance.now() - at < urgentForMs;
  }
}
