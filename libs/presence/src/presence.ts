import { claimAt, claimOf, placeOf, plainAddress } from './address.ts';
import type { Inquiry, Minion, Place, Round, Shortage } from './known.ts';
import { isPlugged, newMinion, withAddress } from './minions.ts';
import {
  forgetPublisher,
  missingAt,
  newPlace,
  risenAt,
  setCount,
  settle,
  settleAs,
} from './places.ts';
import { type Publisher, Publishers } from './publishers.ts';
import { Questions } from './questions.ts';
import type { Heard, PublisherWord } from './reports.ts';
import { type SavedMinion, shardOf } from './saved.ts';

/** How presence is judged. */
export interface PresenceOptions {
  /** A minion without a connection is not told lost before, ms. Stock minions reconnect in 11 s. */
  readonly graceMs: number;
  /** The same after a publisher began or ended; default 60 s. */
  readonly herdMs?: number;
  /**
   * Minions may be asked where connections alone do not tell. Without it such minions stay as they
   * were.
   */
  readonly asks: boolean;
  /** Without questions: one that never had a connection of its own counts for so long, ms. */
  readonly heardForMs: number;
  /** Whether the master accepts the key of this id. */
  readonly isAccepted: (id: string) => boolean;
  /** Whether the minion answers jobs. A syndic without a minion does not. */
  readonly answers: (id: string) => boolean;
  /** Unix ms of a time of the monotonic clock. */
  readonly wallOf: (monotonicMs: number) => number;
}

/** How the master knows that a minion is connected. */
export type Evidence =
  /** It alone has a connection at its address. */
  | 'connection'
  /** It has an address with others, which has enough connections for all. */
  | 'shared'
  /** The same, with too few of them: which minions have one is not known. */
  | 'unclear'
  /** It answers, and has no connection at its addresses. */
  | 'answers'
  /** Its connection has ended a moment ago. */
  | 'ended';

/** What is known of a minion. Times are unix ms. */
export interface KnownMinion {
  readonly present: boolean;
  /** Since when; 0: not known. */
  readonly sinceMs: number;
  /** When it was lost last; 0: never, as far as is known. */
  readonly goneMs: number;
  /** Where it proved itself last; empty where it did not. */
  readonly address: string;
  /** Absent for a minion that is not present. */
  readonly evidence?: Evidence;
}

/** What changed since the last time, ids sorted. */
export interface PresenceChanges {
  readonly present: readonly string[];
  readonly added: readonly string[];
  readonly lost: readonly string[];
}

/** What presence has in hand. */
export interface PresenceStats {
  readonly known: number;
  readonly present: number;
  /** Of these: without a connection, until they are told lost or come back. */
  readonly loose: number;
  readonly unclear: number;
  readonly asking: number;
  readonly asked: number;
  /** Places with connections of which no minion is known. */
  readonly strangers: number;
  readonly publishers: number;
  /** False: no minion is told lost now, because some connections are not known. */
  readonly sure: boolean;
}

/** A minion that is heard, and may have a connection that is not known to be its own. */
interface Unplaced {
  readonly sinceMs: number;
  inquiry: Inquiry | undefined;
}

/**
 * A publisher began or ended, so many reconnect at once: none is told lost for so long, or for the
 * grace where that is longer.
 */
const HERD_MS = 60_000;
/** A publisher that said that it ends may come back within this. */
const RESTART_MS = 300_000;
/** A new connection has so long to say whose it is, before minions are asked. */
const SPEAKS_MS = 5_000;
/** A minion that answers without a connection of its own is asked again after this. */
const FLOATS_MS = 600_000;
/** At an address with more minions than this none is asked: connections alone count there. */
export const SHARED_ASKED_MAX = 1_000;
/** How often silent minions are asked once more, because connections came. */
const EXTRA_TRIES_MAX = 4;
/** One of several shared addresses is lost when it was silent for so long, round after round. */
const SILENT_MS = 1_800_000;
/** Between two rounds of questions at an address that told nothing, and at most. */
const ROUND_PAUSE_MS = 60_000;
const ROUND_PAUSE_MAX_MS = 600_000;

/**
 * Which minions are connected to 4505, over all publishers. A connection there names no minion, so
 * it is joined by its address with what minions prove on 4506.
 *
 * - No connection at any address of a minion: after a grace it is lost.
 * - Fewer connections at an address than minions: they are asked. Lost are those that do not
 *   answer, if no more than that many can be missing.
 * - A connection elsewhere, of which no minion is known: a minion whose own has ended is asked, for
 *   it may have moved.
 *
 * Nothing is lost while some publisher's connections are not known.
 */
export class Presence {
  readonly publishers: Publishers;
  readonly #options: PresenceOptions;
  readonly #herdMs: number;
  readonly #questions = new Questions();
  readonly #minions = new Map<string, Minion>();
  readonly #places = new Map<string, Place>();
  /** Minions by claim; made when a place with a claim is counted first. */
  #claims: Map<string, Minion> | undefined;
  readonly #strangers = new Set<Place>();
  /** Places with more connections than minions that are present. */
  readonly #surplus = new Set<Place>();
  /** Places with connections and several minions: one more or less may not show there. */
  readonly #shared = new Set<Place>();
  readonly #loose = new Set<Minion>();
  readonly #short = new Set<Place>();
  readonly #risen = new Set<Place>();
  readonly #floats = new Set<Minion>();
  /** Heard, not present, and without a connection at their addresses. */
  readonly #unplaced = new Map<Minion, Unplaced>();
  readonly #changed = new Set<Minion>();
  /** Ids that were told and are not accepted any more. */
  readonly #dropped = new Set<string>();
  readonly #unsaved = new Set<number>();
  #now = 0;
  /** Up to when all publishers have told what happened. */
  #knownMs = -Infinity;
  #deaf = false;
  #sureSince: number | undefined;
  /** When a connection came last that may be of any minion. */
  #strayMs = -Infinity;
  /** Until then a herd may be on its way back. */
  #herdUntilMs = -Infinity;
  #present = 0;

  constructor(options: PresenceOptions) {
    this.#options = options;
    this.#herdMs = options.herdMs ?? HERD_MS;
    this.publishers = new Publishers({
      counted: (publisher, key, count, came) => this.#counted(publisher, key, count, came),
      listed: (publisher, counts) => this.#listed(publisher, counts),
      ended: (publisher) => this.#ended(publisher),
      began: (publisher) => this.#began(publisher),
    });
  }

  // What comes in.

  /** A publisher said something. */
  told(word: PublisherWord, now: number): void {
    this.#now = now;
    this.publishers.take(word, now);
  }

  /** Workers heard these minions. */
  heard(heard: readonly Heard[], now: number): void {
    this.#now = now;
    for (const one of heard) this.#heard(one, now - one.agoMs);
  }

  /** What the owner before saved: publishers that it knew, and minions. */
  restore(
    publishers: readonly { readonly by: string; readonly host: string }[],
    saved: Iterable<SavedMinion>,
    now: number,
  ): void {
    this.#now = now;
    this.#herdUntilMs = now + this.#herdMs;
    for (const { by, host } of publishers) this.publishers.expect(by, host, now);
    const dropped: SavedMinion[] = [];
    for (const one of saved) {
      if (!this.#options.isAccepted(one.id)) {
        dropped.push(one);
        continue;
      }
      const minion = this.#minion(one.id);
      const { present, sinceMs, goneMs, placed } = one;
      Object.assign(minion, { present, told: present, sinceMs, goneMs, placed });
      if (present) this.#present += 1;
      // Oldest first: the one that was first is first again.
      const [first, second] = one.addresses;
      if (second !== undefined) this.#proven(minion, second, now);
      if (first !== undefined) this.#proven(minion, first, now);
      this.#plug(minion, this.#options.graceMs);
    }
    this.#unsaved.clear();
    for (const { id, present } of dropped) {
      this.#unsaved.add(shardOf(id));
      if (present) this.#dropped.add(id);
    }
  }

  /** This process does not hear the others: silence means nothing until it hears again. */
  deaf(now: number): void {
    this.#now = now;
    this.#deaf = true;
    this.#sureSince = undefined;
    this.#askAgain();
  }

  /** It hears again, after it was cut off or paused. Words may have been lost. */
  hears(now: number): void {
    this.#now = now;
    this.#deaf = false;
    this.#sureSince = undefined;
    this.#askAgain();
    this.publishers.doubt(now);
  }

  // What goes out.

  /**
   * Does what is due, and gives the minions that have to be asked whether they are there. Call it
   * about each second.
   */
  look(now: number): readonly string[] {
    this.#now = now;
    if (this.#deaf) return [];
    this.publishers.look(now);
    if (!this.publishers.isSure) {
      if (this.#sureSince !== undefined) this.#askAgain();
      this.#sureSince = undefined;
      return [];
    }
    this.#sureSince ??= now;
    // Those that waited meanwhile have their grace from here.
    this.#knownMs = Math.min(now, this.publishers.knownMs);
    const settledMs = Math.max(this.#sureSince + this.#options.graceMs, this.#herdUntilMs);
    const isSettled = this.#knownMs >= settledMs;
    // Minions that are on their way back can not answer.
    const asked = now < this.#herdUntilMs ? [] : this.#questions.take(now);
    if (isSettled) {
      for (const minion of [...this.#loose]) this.#decide(minion);
      for (const place of [...this.#short]) this.#decideShort(place);
      for (const minion of [...this.#floats]) this.#decideFloating(minion);
      for (const [minion, unplaced] of [...this.#unplaced]) {
        this.#decideUnplaced(minion, unplaced);
      }
    }
    for (const place of [...this.#risen]) this.#decideRisen(place);
    return asked.map(({ id }) => id);
  }

  /** The question to these did not go out. */
  notAsked(ids: readonly string[]): void {
    this.#questions.undo(ids.map((id) => this.#minions.get(id)).filter((one) => one !== undefined));
  }

  /** What changed since it was confirmed last. Ids that the master accepts no more are lost. */
  changes(): PresenceChanges {
    const present: string[] = [];
    for (const minion of [...this.#minions.values()]) {
      if (!this.#options.isAccepted(minion.id)) this.#forget(minion);
      else if (minion.present) present.push(minion.id);
    }
    const added: string[] = [];
    const lost = [...this.#dropped];
    for (const { id, present: isPresent, told } of this.#changed) {
      if (isPresent && !told) added.push(id);
      if (!isPresent && told) lost.push(id);
    }
    return { present: present.sort(), added: added.sort(), lost: lost.sort() };
  }

  /** These changes were told. What changed since they were made is told the next time. */
  confirm({ added, lost }: PresenceChanges): void {
    for (const id of lost) this.#dropped.delete(id);
    const now = new Map<string, boolean>();
    for (const id of lost) now.set(id, false);
    // One that came back under a key that was accepted again is in both.
    for (const id of added) now.set(id, true);
    for (const [id, told] of now) {
      const minion = this.#minions.get(id);
      if (minion === undefined || minion.told === told) continue;
      minion.told = told;
      this.#unsaved.add(minion.shard);
    }
    for (const minion of [...this.#changed]) {
      if (minion.told === minion.present) this.#changed.delete(minion);
    }
  }

  /** The shards that differ from what was saved last, whole; each comes once. */
  takeUnsaved(): ReadonlyMap<number, readonly SavedMinion[]> {
    const shards = new Map<number, SavedMinion[]>();
    for (const shard of this.#unsaved) shards.set(shard, []);
    this.#unsaved.clear();
    if (shards.size === 0) return shards;
    for (const minion of this.#minions.values()) {
      const { id, told: present, sinceMs, goneMs, placed } = minion;
      const addresses = minion.addresses.map(({ address }) => address);
      shards.get(minion.shard)?.push({ id, present, sinceMs, goneMs, placed, addresses });
    }
    return shards;
  }

  /** These could not be saved. */
  notSaved(shards: Iterable<number>): void {
    for (const shard of shards) this.#unsaved.add(shard);
  }

  /** All ids that are known. */
  ids(): Iterable<string> {
    return this.#minions.keys();
  }

  /** What is known of a minion; undefined where it was never heard. */
  known(id: string): KnownMinion | undefined {
    const minion = this.#minions.get(id);
    if (minion === undefined) return undefined;
    const { present, sinceMs, goneMs, addresses } = minion;
    const about = { present, sinceMs, goneMs, address: addresses[0]?.address ?? '' };
    return present ? { ...about, evidence: evidenceOf(minion) } : about;
  }

  /** How many minions are connected to the publishers of each host. */
  byHost(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const { host } of this.publishers.all) counts.set(host, 0);
    for (const minion of this.#minions.values()) {
      if (!minion.present) continue;
      const hosts = new Set<string>();
      for (const { at } of minion.places) {
        for (const { by, count } of at) if (count > 0) hosts.add(by.host);
      }
      for (const host of hosts) counts.set(host, (counts.get(host) ?? 0) + 1);
    }
    return counts;
  }

  stats(): PresenceStats {
    let unclear = 0;
    for (const place of this.#short) unclear += place.present;
    return {
      known: this.#minions.size,
      present: this.#present,
      loose: this.#loose.size,
      unclear,
      asking: this.#questions.open,
      asked: this.#questions.asked,
      strangers: this.#strangers.size,
      publishers: [...this.publishers.all].length,
      sure: this.#sureSince !== undefined,
    };
  }

  // Minions and their places.

  #minion(id: string): Minion {
    let minion = this.#minions.get(id);
    if (minion === undefined) {
      minion = newMinion(id, shardOf(id));
      this.#minions.set(id, minion);
      this.#claims?.set(claimOf(id), minion);
    }
    return minion;
  }

  #forget(minion: Minion): void {
    this.#minions.delete(minion.id);
    this.#claims?.delete(claimOf(minion.id));
    this.#questions.drop(minion);
    if (minion.present) this.#setPresent(minion, false);
    this.#link(minion, []);
    this.#loose.delete(minion);
    this.#floats.delete(minion);
    this.#unplaced.delete(minion);
    this.#changed.delete(minion);
    this.#unsaved.add(minion.shard);
    if (minion.told) this.#dropped.add(minion.id);
  }

  #heard({ id, address, answers }: Heard, atMs: number): void {
    if (!this.#options.isAccepted(id)) return;
    const minion = this.#minion(id);
    minion.heardMs = Math.max(minion.heardMs, atMs);
    minion.silentMs = undefined;
    if (address !== '') this.#proven(minion, address, atMs);
    const hasAnswered = answers && this.#questions.answered(minion, atMs);
    if (isPlugged(minion)) {
      if (!minion.present) this.#arrived(minion);
      return;
    }
    if (hasAnswered) this.#answered(minion);
    if (minion.present || this.#unplaced.has(minion) || this.#now < minion.mutedUntilMs) return;
    this.#unplaced.set(minion, { sinceMs: this.#now, inquiry: undefined });
  }

  /** The minion proved itself at an address. */
  #proven(minion: Minion, address: string, atMs: number): void {
    const before = minion.addresses;
    minion.addresses = withAddress(before, plainAddress(address), atMs);
    if (minion.addresses === before) return;
    this.#unsaved.add(minion.shard);
    this.#relink(minion);
  }

  /** Puts a minion to the places of its addresses: those with its claim, where it claims. */
  #relink(minion: Minion): void {
    const keys = minion.addresses.map(({ address }) => {
      if (this.#claims === undefined) return address;
      const claimed = placeOf(address, claimOf(minion.id));
      return (this.#places.get(claimed)?.total ?? 0) > 0 ? claimed : address;
    });
    this.#link(
      minion,
      keys.map((key) => this.#place(key)),
    );
    this.#plug(minion, this.#options.graceMs);
  }

  #link(minion: Minion, places: readonly Place[]): void {
    const before = minion.places;
    minion.places = places;
    for (const place of before) {
      if (places.includes(place) || !place.minions.delete(minion)) continue;
      if (minion.present) this.#leaves(place);
      this.#judge(place);
      this.#tidy(place);
    }
    for (const place of places) {
      if (before.includes(place)) continue;
      place.minions.add(minion);
      if (minion.present) place.present += 1;
      this.#strangers.delete(place);
      this.#judge(place);
    }
  }

  #place(key: string): Place {
    let place = this.#places.get(key);
    if (place === undefined) this.#places.set(key, (place = newPlace(key)));
    return place;
  }

  /** A place without minions is one of strangers; without connections it is nothing. */
  #tidy(place: Place): void {
    if (place.minions.size > 0) return;
    this.#short.delete(place);
    this.#risen.delete(place);
    place.shortage = undefined;
    if (place.total > 0) {
      this.#strangers.add(place);
      return;
    }
    this.#strangers.delete(place);
    this.#surplus.delete(place);
    this.#shared.delete(place);
    this.#places.delete(place.key);
  }

  #setPresent(minion: Minion, isPresent: boolean): void {
    minion.present = isPresent;
    this.#present += isPresent ? 1 : -1;
    for (const place of minion.places) {
      if (isPresent) place.present += 1;
      else this.#leaves(place);
    }
    this.#changed.add(minion);
  }

  /** One minion of a place less; it may have been the one that was excused. */
  #leaves(place: Place): void {
    place.present -= 1;
    place.excused = Math.max(0, place.excused - 1);
  }

  #arrived(minion: Minion): void {
    this.#unplaced.delete(minion);
    minion.sinceMs = this.#options.wallOf(this.#now);
    this.#setPresent(minion, true);
    for (const place of minion.places) this.#judge(place);
  }

  #lost(minion: Minion): void {
    const since = minion.loose?.sinceMs ?? this.#now;
    minion.sinceMs = this.#options.wallOf(since);
    minion.goneMs = minion.sinceMs;
    minion.loose = undefined;
    minion.floats = undefined;
    this.#loose.delete(minion);
    this.#floats.delete(minion);
    this.#questions.drop(minion);
    this.#setPresent(minion, false);
    for (const place of minion.places) this.#judge(place);
  }

  /** Notes whether a minion has a connection at its addresses. */
  #plug(minion: Minion, graceMs: number, host?: string): void {
    if (isPlugged(minion)) {
      minion.loose = undefined;
      minion.floats = undefined;
      this.#loose.delete(minion);
      this.#floats.delete(minion);
      if (!minion.placed) {
        minion.placed = true;
        this.#unsaved.add(minion.shard);
      }
      return;
    }
    if (!minion.present || minion.loose !== undefined || minion.floats !== undefined) return;
    const sinceMs = this.#now;
    minion.loose = { sinceMs, dueMs: this.#due(graceMs), host, inquiry: undefined };
    this.#loose.add(minion);
  }

  // Connections.

  #counted(publisher: Publisher, key: string, count: number, came = 0): void {
    if (count === 0 && !this.#places.has(key)) return;
    const place = this.#place(key);
    const before = place.total;
    setCount(place, publisher, count);
    const gone = before + came - place.total;
    const round = place.shortage?.round;
    if (round !== undefined && gone > 0) round.isDisturbed = true;
    const hasOpened = came > 0 || place.total > before;
    if (hasOpened) place.openedMs = this.#now;
    if (hasOpened && round !== undefined) {
      // Those that went may have been there until the others came.
      const missing = this.#surelyMissing(place) - Math.max(0, gone);
      round.missing = Math.max(0, Math.min(round.missing, missing));
    }
    const claim = claimAt(key);
    if (claim !== undefined && place.total > 0 !== before > 0) this.#claimed(claim);
    this.#counts(place, before, this.#options.graceMs);
    const mayBeOfAny = place.total > place.present || place.minions.size > 1;
    if (hasOpened && mayBeOfAny) this.#strayMs = this.#now;
  }

  /** Follows up on other counts at a place. */
  #counts(place: Place, before: number, graceMs: number, host?: string): void {
    const { minions, total } = place;
    if (total > 0 !== before > 0) {
      for (const minion of minions) this.#plug(minion, graceMs, host);
      if (total === 0) this.#unexcuse(place, graceMs, host);
    }
    // The only minion of an address has the connection that came.
    if (total > before && minions.size === 1 && place.present === 0) {
      for (const minion of minions) this.#arrived(minion);
    }
    this.#judge(place, graceMs, host);
    this.#tidy(place);
  }

  /** Minions of this place that were excused at another one may have had their connection here. */
  #unexcuse(place: Place, graceMs: number, host?: string): void {
    for (const minion of place.minions) {
      for (const other of minion.places) {
        if (!minion.present || other === place || other.excused === 0) continue;
        other.excused -= 1;
        this.#judge(other, graceMs, host);
      }
    }
  }

  /** A claim is made, or is not made any more: its minion has another place. */
  #claimed(claim: string): void {
    if (this.#claims === undefined) {
      this.#claims = new Map();
      for (const minion of this.#minions.values()) this.#claims.set(claimOf(minion.id), minion);
    }
    const minion = this.#claims.get(claim);
    if (minion !== undefined) this.#relink(minion);
  }

  #listed(publisher: Publisher, counts: ReadonlyMap<string, number>): void {
    // What came and went before it is not known.
    this.#askAgain();
    for (const place of [...this.#places.values()]) {
      const has = place.at.some(({ by, count }) => by === publisher && count > 0);
      if (has && !counts.has(place.key)) this.#counted(publisher, place.key, 0);
    }
    for (const [key, count] of counts) this.#counted(publisher, key, count);
  }

  /** Its minions come back to a publisher of the same host, if there is one. */
  #ended(publisher: Publisher): void {
    const { host } = publisher;
    this.#herd();
    const graceMs = this.publishers.serves(host) ? this.#options.graceMs : RESTART_MS;
    const claims: string[] = [];
    for (const place of [...this.#places.values()]) {
      const before = place.total;
      if (!forgetPublisher(place, publisher)) continue;
      const claim = claimAt(place.key);
      if (claim !== undefined && place.total === 0) claims.push(claim);
      this.#counts(place, before, graceMs, host);
      const { shortage } = place;
      if (shortage === undefined) continue;
      shortage.dueMs = Math.max(shortage.dueMs, this.#due(graceMs));
      shortage.host = host;
    }
    for (const claim of claims) this.#claimed(claim);
  }

  /** A publisher serves: what waited for one of its host has its time from now on. */
  #began({ host }: Publisher): void {
    this.#herd();
    const dueMs = this.#due(this.#options.graceMs);
    for (const { loose } of this.#loose) {
      if (loose?.host === host) loose.dueMs = dueMs;
    }
    for (const { shortage } of this.#short) {
      if (shortage?.host === host) shortage.dueMs = dueMs;
    }
  }

  /** Many minions lose their connection, or come back. */
  #herd(): void {
    this.#herdUntilMs = this.#now + this.#herdMs;
    this.#askAgain();
  }

  /** Answers may be lost, and connections end: what was asked so far tells nothing. */
  #askAgain(): void {
    this.#questions.again();
    for (const { shortage } of this.#short) if (shortage !== undefined) shortage.round = undefined;
  }

  /** When a grace ends that begins now. */
  #due(graceMs: number): number {
    return Math.max(this.#now + graceMs, this.#herdUntilMs);
  }

  // Judgements.

  /** Looks whether the connections of a place fit the minions that are said to be there. */
  #judge(place: Place, graceMs = this.#options.graceMs, host?: string): void {
    const { minions, total } = place;
    if (total > place.present) this.#surplus.add(place);
    else this.#surplus.delete(place);
    if (total > 0 && minions.size > 1) this.#shared.add(place);
    else this.#shared.delete(place);
    const absent = minions.size - place.present;
    if (total === 0 || minions.size <= 1) {
      this.#isFine(place);
      this.#notRisen(place);
      settle(place);
      place.excused = 0;
      return;
    }
    const missing = missingAt(place);
    place.excused = Math.min(place.excused, missing);
    if (missing <= place.excused) {
      this.#isFine(place);
      if (absent === 0) settle(place);
    } else if (place.shortage === undefined) {
      const dueMs = Math.max(this.#due(graceMs), place.pausedUntilMs);
      place.shortage = { dueMs, host, round: undefined };
      this.#short.add(place);
    }
    if (absent === 0 || risenAt(place) === 0) this.#notRisen(place);
    else if (place.risenMs === undefined) {
      place.risenMs = this.#now;
      this.#risen.add(place);
    }
  }

  #isFine(place: Place): void {
    place.shortage = undefined;
    this.#short.delete(place);
  }

  #notRisen(place: Place): void {
    place.risenMs = undefined;
    this.#risen.delete(place);
  }

  /** A minion without a connection at its addresses: has it moved, or is it gone? */
  #decide(minion: Minion): void {
    const { loose } = minion;
    if (loose === undefined || this.#knownMs < loose.dueMs) return;
    if (this.#isSilent(loose)) {
      this.#lost(minion);
    } else if (loose.inquiry === undefined) {
      // Its old connection may have ended long after it came from elsewhere.
      const mayHide = this.#surplus.size > 0 || this.#shared.size > 0;
      if (mayHide && this.#mayAsk(minion)) {
        loose.inquiry = this.#questions.ask(minion);
      } else {
        this.#lost(minion);
      }
    }
  }

  /** It answered, and has no connection at its addresses: it has one elsewhere. */
  #answered(minion: Minion): void {
    minion.loose = undefined;
    this.#loose.delete(minion);
    minion.floats = { untilMs: this.#now + FLOATS_MS, inquiry: undefined };
    this.#floats.add(minion);
    if (!minion.present) this.#arrived(minion);
  }

  #decideFloating(minion: Minion): void {
    const { floats } = minion;
    if (floats === undefined) return;
    if (!this.#options.asks) {
      const isOld = this.#now - minion.heardMs > this.#options.heardForMs;
      if (isOld || this.#strangers.size === 0) this.#lost(minion);
      return;
    }
    if (this.#now < floats.untilMs) return;
    if (this.#isSilent(floats) || !this.#mayAsk(minion)) this.#lost(minion);
    else floats.inquiry ??= this.#questions.ask(minion);
  }

  /** It is heard, and no connection at its addresses is known: it may have one elsewhere. */
  #decideUnplaced(minion: Minion, unplaced: Unplaced): void {
    if (minion.present || this.#strangers.size === 0) {
      this.#unplaced.delete(minion);
    } else if (!this.#mayAsk(minion)) {
      this.#unplaced.delete(minion);
      // One that had a connection of its own has it no more, whatever it says on 4506.
      if (!minion.placed) this.#answered(minion);
    } else if (this.#isSilent(unplaced)) {
      this.#unplaced.delete(minion);
      minion.mutedUntilMs = this.#now + FLOATS_MS;
    } else if (this.#now - unplaced.sinceMs >= this.#options.graceMs) {
      unplaced.inquiry ??= this.#questions.ask(minion);
    }
  }

  /**
   * Whether a minion did not answer. A connection that came since it was asked may be its own: then
   * it is asked once more.
   */
  #isSilent(of: { inquiry: Inquiry | undefined }): boolean {
    const { inquiry } = of;
    if (inquiry?.state !== 'unanswered') return false;
    const { lastMs = -Infinity, endMs, extraTries } = inquiry;
    if (this.#knownMs < endMs) return false;
    if (this.#strayMs < lastMs || extraTries === EXTRA_TRIES_MAX) return true;
    of.inquiry = this.#questions.askOnceMore(inquiry);
    return false;
  }

  /** Fewer connections than minions. */
  #decideShort(place: Place): void {
    const { shortage } = place;
    if (shortage === undefined || this.#knownMs < shortage.dueMs || !this.#options.asks) return;
    const { round } = shortage;
    if (round === undefined) {
      this.#askAt(place, shortage);
      return;
    }
    const asked = round.extraTries > 0 ? round.again : round.asked;
    if (asked.some((inquiry) => isWaiting(inquiry, this.#knownMs))) return;
    const silent = asked.filter((inquiry) => isSilentAt(place, inquiry));
    if (silent.length > 0 && this.#mayHaveComeBack(place, round, silent)) return;
    // Only those can be lost that were missing when the round began, and ever since.
    const missing = Math.min(round.missing, this.#surelyMissing(place));
    if (silent.length > missing) {
      // Some of them are there and can not answer: which is not known.
      this.#pause(place);
      shortage.dueMs = place.pausedUntilMs;
      shortage.round = undefined;
      return;
    }
    if (silent.length === 0) this.#pause(place);
    else place.idleRounds = 0;
    this.#isFine(place);
    // Those that answered are there, whatever the connections said then.
    const unanswered = asked.filter(({ state }) => state === 'unanswered');
    // But for one whose connection ended after its answer.
    if (!round.isDisturbed) {
      place.excused += Math.max(0, round.unexplained - unanswered.length);
      settleAs(place, round.counts);
    }
    const { excused } = place;
    for (const { minion } of silent) if (minion.present) this.#lost(minion);
    for (const inquiry of unanswered) this.#noteSilence(inquiry);
    place.excused = excused;
    this.#judge(place);
  }

  /** One that may have its connection at another shared address is lost when it stays silent. */
  #noteSilence({ minion, firstMs = 0 }: Inquiry): void {
    if (!minion.present || minion.heardMs > firstMs) return;
    minion.silentMs ??= firstMs;
    if (this.#now - minion.silentMs >= SILENT_MS) this.#lost(minion);
  }

  /** A connection that came since the last question may be of one that did not answer it. */
  #mayHaveComeBack(place: Place, round: Round, silent: readonly Inquiry[]): boolean {
    const askedMs = Math.min(...silent.map(({ lastMs }) => lastMs ?? 0));
    if (place.openedMs < askedMs || round.extraTries === EXTRA_TRIES_MAX) return false;
    round.extraTries += 1;
    round.again = silent.map((inquiry) => this.#questions.askOnceMore(inquiry));
    return true;
  }

  /** A round told nothing: the next one is later each time. */
  #pause(place: Place): void {
    place.idleRounds += 1;
    const pauseMs = ROUND_PAUSE_MS * 2 ** Math.min(place.idleRounds, 10);
    place.pausedUntilMs = this.#now + Math.min(pauseMs, ROUND_PAUSE_MAX_MS);
  }

  /**
   * How many minions are missing that can have their connection nowhere else. One that proved
   * itself at two addresses may have it at the other one.
   */
  #surelyMissing(place: Place): number {
    let present = 0;
    for (const minion of place.minions) {
      if (minion.present && !isElsewhere(minion, place)) present += 1;
    }
    return Math.max(0, missingAt({ ...place, present }) - place.excused);
  }

  /**
   * Asks all minions of a place. One that was heard a moment ago may be the one whose connection
   * has ended.
   */
  #askAt(place: Place, shortage: Shortage): void {
    if (place.present > SHARED_ASKED_MAX) return;
    const minions = [...place.minions].filter((one) => one.present && this.#mayAsk(one));
    shortage.round = {
      isDisturbed: false,
      unexplained: missingAt(place) - place.excused,
      missing: this.#surelyMissing(place),
      counts: place.at.map(({ by, count }) => [by, count]),
      asked: minions.map((minion) => this.#questions.ask(minion)),
      again: [],
      extraTries: 0,
    };
  }

  /** More connections than minions that are present: are those back that were lost? */
  #decideRisen(place: Place): void {
    if (place.risenMs === undefined || this.#now - place.risenMs < SPEAKS_MS) return;
    const absent = [...place.minions].filter(({ present }) => !present);
    this.#notRisen(place);
    if (!this.#options.asks) {
      if (absent.length > risenAt(place)) return;
      for (const minion of absent) this.#arrived(minion);
    } else if (absent.length <= SHARED_ASKED_MAX) {
      for (const minion of absent) if (this.#mayAsk(minion)) this.#questions.ask(minion);
    }
    settle(place);
  }

  #mayAsk({ id }: Minion): boolean {
    return this.#options.asks && this.#options.answers(id);
  }
}

/** Whether a minion may have its connection at another of its addresses. */
function isElsewhere({ places }: Minion, place: Place): boolean {
  return places.some((one) => one !== place && one.total > 0);
}

/** It may answer, or its connection may have come and is not told. */
function isWaiting({ state, endMs }: Inquiry, knownMs: number): boolean {
  return state === 'open' || (state === 'unanswered' && knownMs < endMs);
}

/** One that makes requests is alive, whatever keeps it from an answer. */
function isSilentAt(place: Place, { state, firstMs = 0, minion }: Inquiry): boolean {
  return state === 'unanswered' && minion.heardMs <= firstMs && !isElsewhere(minion, place);
}

function evidenceOf(minion: Minion): Evidence {
  if (minion.floats !== undefined) return 'answers';
  if (!isPlugged(minion)) return 'ended';
  const open = minion.places.filter(({ total }) => total > 0);
  if (open.some(({ minions }) => minions.size === 1)) return 'connection';
  return open.every(({ shortage }) => shortage !== undefined) ? 'unclear' : 'shared';
}
