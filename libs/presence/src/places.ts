import type { Certainty } from './certainty.ts';
import type { Minion, Place } from './known.ts';
import { missingAt, newConnectionsAt, setCount, settle, surelyMissingAt } from './place-counts.ts';
import type { Publisher } from './publishers.ts';

/** The places that have connections or minions, and how the two fit. */
export class Places {
  /** With connections of which no minion is known. */
  readonly strangers = new Set<Place>();
  /** With fewer connections than minions that are present. */
  readonly short = new Set<Place>();
  /** With new connections, which may be of minions that were lost. */
  readonly comebacks = new Set<Place>();
  readonly #certainty: Certainty;
  readonly #all = new Map<string, Place>();
  /** With more connections than minions that are present. */
  readonly #surplus = new Set<Place>();
  /** With connections and several minions: one connection more or less may not show there. */
  readonly #shared = new Set<Place>();

  constructor(certainty: Certainty) {
    this.#certainty = certainty;
  }

  /** All places now. */
  get all(): readonly Place[] {
    return [...this.#all.values()];
  }

  /** Whether a connection of a minion that moved may be somewhere without being noticed. */
  get mayHide(): boolean {
    return this.#surplus.size > 0 || this.#shared.size > 0;
  }

  get(key: string): Place | undefined {
    return this.#all.get(key);
  }

  /** The place with this key, from now on at the latest. */
  at(key: string): Place {
    let place = this.#all.get(key);
    if (place === undefined) this.#all.set(key, (place = newPlace(key)));
    return place;
  }

  /** Puts a minion to these places, and removes it from the others that it had. */
  link(minion: Minion, places: readonly Place[]): void {
    const before = minion.places;
    minion.places = places;
    for (const place of before) {
      if (places.includes(place) || !place.minions.delete(minion)) continue;
      if (minion.state.present) leave(place);
      this.compare(place);
      this.tidy(place);
    }
    for (const place of places) {
      if (before.includes(place)) continue;
      place.minions.add(minion);
      if (minion.state.present) place.present += 1;
      this.strangers.delete(place);
      this.compare(place);
    }
  }

  /** A minion has become present, or is not present any more. */
  follow({ state, places }: Minion): void {
    for (const place of places) {
      if (state.present) place.present += 1;
      else leave(place);
      this.compare(place);
    }
  }

  /** Sets how many connections a publisher has at a place. True if some came. */
  count(place: Place, publisher: Publisher, count: number, came: number): boolean {
    const before = place.total;
    setCount(place, publisher, count);
    const gone = before + came - place.total;
    const hasOpened = came > 0 || place.total > before;
    if (hasOpened) place.openedMs = this.#certainty.now;
    const round = place.shortage?.round;
    if (round !== undefined && gone > 0) round.isDisturbed = true;
    if (round !== undefined && hasOpened) {
      // Connections that ended may have lasted until the others came.
      const missing = surelyMissingAt(place) - Math.max(0, gone);
      round.missing = Math.max(0, Math.min(round.missing, missing));
    }
    return hasOpened;
  }

  /** Compares the connections of a place with the minions that are present there. */
  compare(place: Place, graceMs?: number, host?: string): void {
    const { minions, present, total } = place;
    put(this.#surplus, place, total > present);
    put(this.#shared, place, total > 0 && minions.size > 1);
    const absent = minions.size - present;
    if (total === 0 || minions.size <= 1) {
      this.endShortage(place);
      this.endComeback(place);
      settle(place);
      place.excused = 0;
      return;
    }
    const missing = missingAt(place, present);
    place.excused = Math.min(place.excused, missing);
    if (missing <= place.excused) {
      this.endShortage(place);
      if (absent === 0) settle(place);
    } else if (place.shortage === undefined) {
      const dueMs = Math.max(this.#certainty.due(graceMs), place.pausedUntilMs);
      place.shortage = { dueMs, host, round: undefined };
      this.short.add(place);
    }
    if (absent === 0 || newConnectionsAt(place) === 0) this.endComeback(place);
    else if (place.comebackMs === undefined) {
      place.comebackMs = this.#certainty.now;
      this.comebacks.add(place);
    }
  }

  /** Minions that were excused at another place may have had their connection at this one. */
  unexcuse(place: Place, graceMs?: number, host?: string): void {
    for (const { state, places } of place.minions) {
      if (!state.present) continue;
      for (const other of places) {
        if (other === place || other.excused === 0) continue;
        other.excused -= 1;
        this.compare(other, graceMs, host);
      }
    }
  }

  endShortage(place: Place): void {
    place.shortage = undefined;
    this.short.delete(place);
  }

  endComeback(place: Place): void {
    place.comebackMs = undefined;
    this.comebacks.delete(place);
  }

  /** A place without minions is one of strangers. Without connections too it is forgotten. */
  tidy(place: Place): void {
    if (place.minions.size > 0) return;
    this.endShortage(place);
    this.comebacks.delete(place);
    put(this.strangers, place, place.total > 0);
    if (place.total > 0) return;
    this.#surplus.delete(place);
    this.#shared.delete(place);
    this.#all.delete(place.key);
  }
}

function newPlace(key: string): Place {
  return {
    key,
    counts: [],
    total: 0,
    openedMs: -Infinity,
    minions: new Set<Minion>(),
    present: 0,
    excused: 0,
    shortage: undefined,
    idleRounds: 0,
    pausedUntilMs: -Infinity,
    comebackMs: undefined,
  };
}

/** A present minion of a place less; it may have been the one that was excused. */
function leave(place: Place): void {
  place.present -= 1;
  place.excused = Math.max(0, place.excused - 1);
}

function put(set: Set<Place>, place: Place, isIn: boolean): void {
  if (isIn) set.add(place);
  else set.delete(place);
}
