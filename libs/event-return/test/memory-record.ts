import type { SaltMap } from '@brine/wire';
import { placeIn, type PlaceKeeper } from '../src/place.ts';
import type { SavedPlace } from '../src/returner.ts';

/** The record of a returner in memory, and the right to write, which one process has at a time. */
export class MemoryRecord {
  #data: SaltMap = new Map();
  #owner = new AbortController();
  /** While set, every save fails. */
  isAway = false;
  saves = 0;

  get place(): SavedPlace {
    return placeIn(this.#data);
  }

  /** Gives the right to another process. */
  take(): PlaceKeeper {
    this.#owner.abort(new Error('released'));
    const owner = (this.#owner = new AbortController());
    let data = this.#data;
    const check = (): void => owner.signal.throwIfAborted();
    return {
      get data() {
        return data;
      },
      released: owner.signal,
      check,
      save: async (next) => {
        check();
        if (this.isAway) throw Object.assign(new Error('NATS is unreachable'), { retryable: true });
        this.#data = data = next;
        this.saves += 1;
      },
    };
  }
}
