import { mapOf, type SaltMap, textOf } from '@brine/wire';
import { ReturnerError, type SavedPlace } from './returner.ts';

/** The right to write to a returner, and its place. Of several processes one has it at a time. */
export interface PlaceKeeper {
  /** What was saved last, as {@link placeMap} made it. */
  readonly data: SaltMap;
  /** Aborted when this process must write there no more. */
  readonly released: AbortSignal;
  /** Asks the clock too; throws where this process must write there no more. */
  check(): void;
  /** Throws as {@link check}, and a retryable error for outages. */
  save(data: SaltMap): Promise<void>;
}

/** How often a place is saved that does not move: streams forget a returner after a day. */
const RENEW_MS = 3_600_000;

/** The place of a returner, while this process may write there. */
export class Place {
  readonly #keeper: PlaceKeeper;
  readonly #now: () => number;
  /** What was written, and is not saved yet. */
  #unsaved: SavedPlace | undefined;
  #savedMs = -Infinity;

  /**
   * @param now a monotonic clock, ms
   * @param before from when this process wrote there last
   */
  constructor(keeper: PlaceKeeper, now: () => number, before: Place | undefined) {
    this.#keeper = keeper;
    this.#now = now;
    // Where no other process has saved a place since, what was written then still counts.
    if (before === undefined || before.saved.position !== this.saved.position) return;
    this.#unsaved = before.#unsaved;
  }

  /** What was saved last. */
  get saved(): SavedPlace {
    return placeIn(this.#keeper.data);
  }

  /** When it was saved last. */
  get savedMs(): number {
    return this.#savedMs;
  }

  /**
   * Call it before each write.
   * @throws ReturnerError `moved`, and a retryable error for outages
   */
  async check(): Promise<void> {
    try {
      this.#keeper.check();
    } catch (error) {
      throw new ReturnerError('moved', 'this process must not write there', error);
    }
    const isDue = this.#now() - this.#savedMs >= RENEW_MS;
    if (isDue || this.#unsaved !== undefined) await this.save({});
  }

  /** Saves what has changed. Throws as {@link PlaceKeeper.save}. */
  async save(changed: SavedPlace): Promise<void> {
    this.#unsaved = { ...this.#unsaved, ...changed };
    await this.#keeper.save(placeMap({ ...this.saved, ...this.#unsaved }));
    this.#unsaved = undefined;
    this.#savedMs = this.#now();
  }
}

/** A place as the data of a record. */
export function placeMap(place: SavedPlace): SaltMap {
  return mapOf({ place: JSON.stringify(place) });
}

/** The place that {@link placeMap} was given. */
export function placeIn(data: SaltMap): SavedPlace {
  return JSON.parse(textOf(data, 'place') ?? '{}') as SavedPlace;
}
