import { NetapiError } from './errors.ts';

/** How many places there are. */
export interface PlaceLimits {
  readonly all: number;
  /** The part of these that one name may have: others keep room. */
  readonly ofOne: number;
  /** The text of a refusal. */
  readonly text: string;
  /** Seconds after which a refused peer may ask again. */
  readonly retryAfterS: number;
}

/** Counts of places. */
export interface PlaceStats {
  readonly inHand: number;
  readonly refused: number;
}

/** Places in one process: what is too much is refused, and not begun. */
export class Places {
  readonly #limits: PlaceLimits;
  readonly #ofOne = new Map<string, number>();
  #inHand = 0;
  #refused = 0;

  constructor(limits: PlaceLimits) {
    this.#limits = limits;
  }

  get stats(): PlaceStats {
    return { inHand: this.#inHand, refused: this.#refused };
  }

  /**
   * Takes a place for these names, as of a user and of an address, or some at once; the returned
   * function gives them back.
   * @throws NetapiError 503 where not all of them are free
   */
  enter(names: readonly string[], places = 1): () => void {
    const { all, ofOne, text, retryAfterS } = this.#limits;
    const isShareUsed = names.some((name) => (this.#ofOne.get(name) ?? 0) + places > ofOne);
    if (isShareUsed || this.#inHand + places > all) {
      this.#refused += 1;
      throw new NetapiError(503, text, { retryAfter: retryAfterS });
    }
    this.#inHand += places;
    for (const name of names) this.#ofOne.set(name, (this.#ofOne.get(name) ?? 0) + places);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#inHand -= places;
      for (const name of names) {
        const left = (this.#ofOne.get(name) ?? places) - places;
        if (left === 0) this.#ofOne.delete(name);
        else this.#ofOne.set(name, left);
      }
    };
  }
}

/** Calls of one process that wait for the master and for minions; some 100 KiB each. */
export const CALL_PLACES: PlaceLimits = { all: 1_024, ofOne: 512, text: '', retryAfterS: 2 };

/** Searches of one process through the events; each reads ahead some MiB. */
export const SEARCH_PLACES: PlaceLimits = { all: 16, ofOne: 8, text: '', retryAfterS: 2 };

/** Followers of events of one process. Each has a connection. */
export const FOLLOWER_PLACES: PlaceLimits = {
  all: 11_000,
  ofOne: 5_500,
  text: 'Too many follow the events.',
  retryAfterS: 30,
};
