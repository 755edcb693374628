import { mapOf, type SaltMap, textOf } from '@brine/wire';
import { ReturnerError, type SavedPlace } from './returner.ts';

/** The right to write to a returner, and its place. One process has it at a time. */
export interface PlaceKeeper {
  /** The last saved data, as {@link placeMap} made it. */
  readonly data: SaltMap;
  /** Aborted when this process must no longer write there. */
  readonly released: AbortSignal;
  /** Checks the clock too; throws if this process must no longer write there. */
  check(): void;
  /** Throws as {@link check}, and a retryable error for outages. */
  save(data: SaltMap): Promise<void>;
}

/** Save interval of an unchanged place: streams forget a returner after a day. */
const RENEW_MS = 3_600_000;

/** The place of a returner, while this process may write there. */
export class Place {
  readonly #keeper: PlaceKeeper;
  readonly #now: () => number;
  /** Written, but not saved yet. */
  #unsaved: SavedPlace | undefined;
  #savedMs = -Infinity;

  /**
   * @param now a monotonic clock, ms
   * @param before the place of this process's last ownership
   */
  constructor(keeper: PlaceKeeper, now: () => number, before: Place | undefined) {
    this.#keeper = keeper;
    this.#now = now;
    // If no other process has saved a place since, the earlier unsaved place still counts.
    if (before === undefined || before.saved.position !== this.saved.position) return;
    this.#unsaved = before.#unsaved;
  }

  /** The place that was saved last. */
  get saved(): SavedPlace {
    return placeIn(this.#keeper.data);
  }

  /** Time of the last save. */
  get savedMs(): number {
    return this.#savedMs;
  }

  /**
   * Checks the right to write; call it before each write.
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

  /** Saves a changed place. Throws as {@link PlaceKeeper.save}. */
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

/** Reads the place from the output of {@link placeMap}. */
export function placeIn(data: SaltMap): SavedPlace {
  return JSON.parse(textOf(data, 'place') ?? '{}') as SavedPlace;
}
