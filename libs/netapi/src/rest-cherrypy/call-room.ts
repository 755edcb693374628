import { NetapiError } from '../errors.ts';

/** Calls of one process that wait for the master and for minions; some 100 KiB each. */
const CALLS_MAX = 1_024;
/** The part of these that one user may have, and one address: others keep room. */
const OF_ONE_MAX = 512;
/** A peer that was refused may ask again after so many seconds. */
const RETRY_AFTER_S = 2;

/** Counts of refused calls. */
export interface CallRoomStats {
  readonly inHand: number;
  readonly refused: number;
}

/** The room for calls: what is too much is refused, and not begun. */
export class CallRoom {
  readonly #ofOne = new Map<string, number>();
  #inHand = 0;
  #refused = 0;

  get stats(): CallRoomStats {
    return { inHand: this.#inHand, refused: this.#refused };
  }

  /**
   * Takes a place for a call of these names, of a user and of an address; the returned function
   * gives it back.
   * @throws NetapiError 503
   */
  enter(names: readonly string[]): () => void {
    const isShareUsed = names.some((name) => (this.#ofOne.get(name) ?? 0) >= OF_ONE_MAX);
    if (isShareUsed || this.#inHand >= CALLS_MAX) {
      this.#refused += 1;
      throw new NetapiError(503, '', { retryAfter: RETRY_AFTER_S });
    }
    this.#inHand += 1;
    for (const name of names) this.#ofOne.set(name, (this.#ofOne.get(name) ?? 0) + 1);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#inHand -= 1;
      for (const name of names) {
        const left = (this.#ofOne.get(name) ?? 1) - 1;
        if (left === 0) this.#ofOne.delete(name);
        else this.#ofOne.set(name, left);
      }
    };
  }
}
