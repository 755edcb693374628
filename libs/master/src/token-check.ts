import { checkMinionToken, type PublicKey } from '@brine/crypt';
import { LRUCache } from 'lru-cache';

/** Limit of cached tokens; each is one RSA block, so this is at most a few MB. */
const TOKENS_KEPT_MAX = 20_000;

/** By size, each entry 1: with `max` the cache would allocate all entries at once. */
const PLACES = { maxSize: TOKENS_KEPT_MAX, sizeCalculation: () => 1 };

/**
 * Caches verified tokens. A minion's `tok` is the same bytes in every request (deterministic
 * padding over a constant), so one RSA operation per key serves all its requests. A changed public
 * key is another entry: nothing has to be invalidated.
 */
export class TokenChecks {
  readonly #good = new LRUCache<PublicKey, Uint8Array>(PLACES);

  /** True if `tok` was made with the private half of this key. */
  check(key: PublicKey, tok: Uint8Array): boolean {
    const good = this.#good.get(key);
    if (good !== undefined && Buffer.compare(good, tok) === 0) return true;
    if (!checkMinionToken(key, Buffer.from(tok))) return false;
    // A copy: the request's buffer must not stay alive for one field.
    this.#good.set(key, Uint8Array.from(tok));
    return true;
  }
}
