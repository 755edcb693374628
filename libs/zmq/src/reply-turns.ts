// Named peers are few (3008 daemons, one per role and slot); past this the oldest are forgotten.
const MAX_NAMED_PEERS = 65_536;

// libzmq names a peer that has no identity by a zero byte and a 32 bit counter: never used again.
const ANONYMOUS_BYTES = 5;

/**
 * Remembers which request of a *named* peer is its newest. With ROUTER_HANDOVER a peer that
 * reopens its socket under the same identity takes over the routing id, and a late reply to its
 * former request would reach it as the answer to the next one.
 */
export class ReplyTurns {
  readonly #newest = new Map<string, number>();
  readonly #maxNamed: number;
  #last = 0;

  constructor(maxNamed = MAX_NAMED_PEERS) {
    this.#maxNamed = maxNamed;
  }

  /** Named peers with an unanswered request. */
  get size(): number {
    return this.#newest.size;
  }

  /** Notes a request; 0 for anonymous peers. */
  open(peer: Uint8Array): number {
    if (isAnonymous(peer)) return 0;
    const key = keyOf(peer);
    this.#last += 1;
    this.#newest.delete(key);
    this.#newest.set(key, this.#last);
    if (this.#newest.size > this.#maxNamed) {
      for (const oldest of this.#newest.keys()) {
        this.#newest.delete(oldest);
        break;
      }
    }
    return this.#last;
  }

  /** Whether the request of this turn may still be answered; forgets it if so. */
  close(peer: Uint8Array, turn: number): boolean {
    if (turn === 0) return true;
    const key = keyOf(peer);
    const newest = this.#newest.get(key);
    if (newest === undefined || newest !== turn) return false;
    this.#newest.delete(key);
    return true;
  }
}

function isAnonymous(peer: Uint8Array): boolean {
  return peer.length === ANONYMOUS_BYTES && peer[0] === 0;
}

function keyOf(peer: Uint8Array): string {
  return Buffer.from(peer.buffer, peer.byteOffset, peer.byteLength).toString('latin1');
}
