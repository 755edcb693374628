import { claimAt, claimOf, placeOf, plainAddress, withAddress } from './address.ts';
import type { Certainty } from './certainty.ts';
import type { Minion, Place } from './known.ts';
import type { Minions } from './minions.ts';
import { forgetPublisher } from './place-counts.ts';
import type { Places } from './places.ts';
import type { CountPorts, Publisher } from './publishers.ts';
import type { Questions } from './questions.ts';
import type { MinionEvent } from './states.ts';

/** What the owner of presence knows and works with. */
export interface OwnerParts {
  readonly certainty: Certainty;
  readonly minions: Minions;
  readonly places: Places;
  readonly questions: Questions;
  /** Unix ms of a time of the monotonic clock. */
  readonly wallOf: (monotonicMs: number) => number;
}

/** A publisher that sent `bye` may come back within this. */
const RESTART_MS = 300_000;

/**
 * Joins connections, which have an address, with minions, which prove themselves at addresses.
 * Follows what publishers report and moves minions to the state that results.
 */
export class Connections implements CountPorts {
  readonly #parts: OwnerParts;

  constructor(parts: OwnerParts) {
    this.#parts = parts;
  }

  // Minions.

  /** The minion proved itself at an address. */
  proven(minion: Minion, address: string, atMs: number): void {
    const before = minion.addresses;
    minion.addresses = withAddress(before, plainAddress(address), atMs);
    if (minion.addresses === before) return;
    this.#parts.minions.changed(minion);
    this.#relink(minion);
  }

  /** Something happened to a minion. It may be present now, or be so no more. */
  happens(minion: Minion, event: MinionEvent, dueMs = Infinity, host?: string): void {
    const { certainty, minions, places, questions, wallOf } = this.#parts;
    const before = minion.state;
    minions.move(minion, event, { nowMs: certainty.now, dueMs, host });
    const isPresent = minion.state.present;
    if (isPresent === before.present) return;
    minion.sinceMs = wallOf(before.is === 'ended' ? before.sinceMs : certainty.now);
    if (!isPresent) {
      minion.goneMs = minion.sinceMs;
      questions.drop(minion);
    }
    places.follow(minion);
  }

  /** The addresses of a minion have a connection now, or have none. */
  check(minion: Minion, graceMs?: number, host?: string): void {
    if (!hasConnection(minion)) {
      this.happens(minion, 'disconnects', this.#parts.certainty.due(graceMs), host);
      return;
    }
    this.happens(minion, 'connects');
    if (minion.wasConnected) return;
    minion.wasConnected = true;
    this.#parts.minions.changed(minion);
  }

  /** The key of a minion is not accepted any more. */
  forget(minion: Minion): void {
    const { minions, places, questions } = this.#parts;
    questions.drop(minion);
    places.link(minion, []);
    minions.remove(minion);
  }

  // Publishers.

  counted(publisher: Publisher, key: string, count: number, came = 0): void {
    const { places, questions } = this.#parts;
    const place = count === 0 ? places.get(key) : places.at(key);
    if (place === undefined) return;
    const before = place.total;
    const hasOpened = places.count(place, publisher, count, came);
    const claim = claimAt(key);
    if (claim !== undefined && place.total > 0 !== before > 0) this.#claimed(claim);
    this.#follow(place, before);
    const mayBeOfAny = place.total > place.present || place.minions.size > 1;
    if (hasOpened && mayBeOfAny) questions.strayCame();
  }

  listed(publisher: Publisher, counts: ReadonlyMap<string, number>): void {
    // What came and went before the list is not known.
    this.askAgain();
    for (const place of this.#parts.places.all) {
      const has = place.counts.some(({ by, count }) => by === publisher && count > 0);
      if (has && !counts.has(place.key)) this.counted(publisher, place.key, 0);
    }
    for (const [key, count] of counts) this.counted(publisher, key, count);
  }

  /** Its minions come back to a publisher of the same host, if there is one. */
  ended(publisher: Publisher, isServed: boolean): void {
    const { certainty, places } = this.#parts;
    const { host } = publisher;
    this.#herd();
    const graceMs = isServed ? undefined : RESTART_MS;
    const claims: string[] = [];
    for (const place of places.all) {
      const before = place.total;
      if (!forgetPublisher(place, publisher)) continue;
      const claim = claimAt(place.key);
      if (claim !== undefined && place.total === 0) claims.push(claim);
      this.#follow(place, before, graceMs, host);
      const { shortage } = place;
      if (shortage === undefined) continue;
      shortage.dueMs = Math.max(shortage.dueMs, certainty.due(graceMs));
      shortage.host = host;
    }
    for (const claim of claims) this.#claimed(claim);
  }

  /** What waited for a publisher of this host has its grace from now on. */
  began({ host }: Publisher): void {
    const { certainty, minions, places } = this.#parts;
    this.#herd();
    const dueMs = certainty.due();
    for (const { state } of minions.in('ended')) {
      if (state.is === 'ended' && state.host === host) state.dueMs = dueMs;
    }
    for (const { shortage } of places.short) {
      if (shortage?.host === host) shortage.dueMs = dueMs;
    }
  }

  /** Answers may be lost, and connections end: questions so far have no result. */
  askAgain(): void {
    const { places, questions } = this.#parts;
    questions.again();
    for (const { shortage } of places.short) if (shortage !== undefined) shortage.round = undefined;
  }

  #herd(): void {
    this.#parts.certainty.herd();
    this.askAgain();
  }

  /** Moves a minion to the places of its addresses: those with its claim, where it claims. */
  #relink(minion: Minion): void {
    const { minions, places } = this.#parts;
    const keys = minion.addresses.map(({ address }) => {
      if (!minions.hasLiveWorker) return address;
      const claimed = placeOf(address, claimOf(minion.id));
      return (places.get(claimed)?.total ?? 0) > 0 ? claimed : address;
    });
    places.link(
      minion,
      keys.map((key) => places.at(key)),
    );
    this.check(minion);
  }

  /** A claim is made, or is not made any more: its minion has another place. */
  #claimed(claim: string): void {
    const minion = this.#parts.minions.claiming(claim);
    if (minion !== undefined) this.#relink(minion);
  }

  /** The connections of a place have changed. */
  #follow(place: Place, before: number, graceMs?: number, host?: string): void {
    const { places } = this.#parts;
    const { minions, total } = place;
    if (total > 0 !== before > 0) {
      for (const minion of minions) this.check(minion, graceMs, host);
      if (total === 0) places.unexcuse(place, graceMs, host);
    }
    // The only minion of an address has the connection that came.
    if (total > before && minions.size === 1) {
      for (const minion of minions) this.happens(minion, 'arrives');
    }
    places.compare(place, graceMs, host);
    places.tidy(place);
  }
}

/** Whether one of the minion's places has a connection. */
export function hasConnection({ places }: Minion): boolean {
  return places.some((place) => place.total > 0);
}
