import { LRUCache } from 'lru-cache';

/** Limit of unproven log-ins, and of remembered proofs; the oldest are forgotten. */
const REMEMBERED_MAX = 50_000;

/** By size, each entry 1: with `max` the cache would allocate all entries at once. */
const PLACES = { maxSize: REMEMBERED_MAX, sizeCalculation: () => 1 };

/**
 * Interval after which a proof is recorded again, in ms. Strangers can begin any number of log-ins
 * in a minion's name, and each would make the minion's next request another proof.
 */
const NOTE_AGAIN_MS = 3_600_000;

/** The last proof of a minion. */
interface Noted {
  readonly version: number;
  readonly at: number;
}

/**
 * Log-ins whose minion has not yet proved that it has the private key of its offered public key.
 * The next sealed request of the minion that this worker opens is the proof.
 */
export class ProvenLogIns {
  readonly #unproven = new LRUCache<string, true>(PLACES);
  readonly #noted = new LRUCache<string, Noted>(PLACES);

  /** Records an accepted log-in. */
  began(id: string): void {
    this.#unproven.set(id, true);
  }

  /**
   * Handles a request that only the owner of the private key could make. True if it proves a log-in
   * that has to be reported.
   */
  proves(id: string, version: number, now: number): boolean {
    // Most requests follow no log-in.
    if (this.#unproven.size === 0 || !this.#unproven.delete(id)) return false;
    const noted = this.#noted.get(id);
    if (noted?.version === version && Math.abs(now - noted.at) < NOTE_AGAIN_MS) return false;
    this.#noted.set(id, { version, at: now });
    return true;
  }
}
