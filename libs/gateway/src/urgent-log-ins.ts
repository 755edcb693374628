import { LIMITS } from '@brine/bus/rpc';
import { LRUCache } from 'lru-cache';

/**
 * Minions whose sealed request was just answered `bad load`. A return waits for their next log-in,
 * so it goes before those of minions that only start.
 */
export class RefusedMinions {
  readonly #minions = new LRUCache<string, true>({
    max: LIMITS.login.urgentMinions,
    ttl: LIMITS.login.urgentForMs,
    perf: { now: () => performance.now() },
    ttlResolution: 0,
  });

  add(minion: string | undefined): void {
    if (minion !== undefined) this.#minions.set(minion, true);
  }

  /** True if a request waits for a log-in of this minion; forgets it. */
  take(minion: string | undefined): boolean {
    if (minion === undefined) return false;
    const isUrgent = this.#minions.has(minion);
    this.#minions.delete(minion);
    return isUrgent;
  }
}
