import { LRUCache } from 'lru-cache';

/** Log-ins that wait for their proof, and proofs that are remembered; the oldest are forgotten. */
const REMEMBERED_MAX = 50_000;

/** By size, each entry 1: with `max` the cache would take the room of all of them at once. */
const PLACES = { maxSize: REMEMBERED_MAX, sizeCalculation: () => 1 };

/**
 * A proof is put on record again after this, in ms. Strangers can begin any number of log-ins in a
 * minion's name, and each would make the minion's next request another proof.
 */
const NOTE_AGAIN_MS = 3_600_000;

/** What the last proof of a minion said. */
interface Noted {
  readonly version: number;
  readonly at: number;
}

/**
 * Log-ins whose minion has not shown yet that it holds the private key of the public one that it
 * offered. Its next sealed request that this worker opens shows it.
 */
export class ProvenLogIns {
  readonly #unproven = new LRUCache<string, true>(PLACES);
  readonly #noted = new LRUCache<string, Noted>(PLACES);

  /** A log-in was accepted. */
  began(id: string): void {
    this.#unproven.set(id, true);
  }

  /**
   * Takes a request that only the holder of the private key could make. True if it proves a log-in
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
