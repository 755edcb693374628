import { Certainty } from './certainty.ts';
import { Connections, hasConnection } from './connections.ts';
import { type KnownMinion, knownOf } from './evidence.ts';
import type { Minion } from './known.ts';
import { Minions, type PresenceChanges } from './minions.ts';
import { Places } from './places.ts';
import { Publishers } from './publishers.ts';
import { type QuestionOptions, Questions } from './questions.ts';
import type { Proof, PublisherReport } from './reports.ts';
import type { SavedMinion } from './saved.ts';
import { SharedPlaces } from './shared-places.ts';
import { ELSEWHERE_MS } from './states.ts';

/** How presence is judged. Without questions minions whose state is unclear stay as they were. */
export interface PresenceOptions extends QuestionOptions {
  /** A minion without a connection is not lost before, ms. Stock minions reconnect in 11 s. */
  readonly graceMs: number;
  /** The same after a publisher began or ended; default 60 s. */
  readonly herdMs?: number;
  /** Without questions: a minion that never had a connection of its own counts for so long, ms. */
  readonly provenForMs: number;
  /** Whether the master accepts the key of this id. */
  readonly isAccepted: (id: string) => boolean;
  /** Unix ms of a time of the monotonic clock. */
  readonly wallOf: (monotonicMs: number) => number;
}

/** Figures of presence. */
export interface PresenceStats {
  readonly known: number;
  readonly present: number;
  /** Present minions whose connection has ended, until they are lost or come back. */
  readonly ended: number;
  readonly unclear: number;
  readonly asking: number;
  readonly asked: number;
  /** Places with connections of which no minion is known. */
  readonly strangers: number;
  readonly publishers: number;
  /** False: no minion is lost now, because some connections are not known. */
  readonly sure: boolean;
}

/**
 * Which minions are connected to 4505, over all publishers. A connection there names no minion, so
 * it is joined by its address with what minions prove on 4506. States of a minion: states.ts.
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
  readonly #certainty: Certainty;
  readonly #minions = new Minions();
  readonly #places: Places;
  readonly #questions: Questions;
  readonly #connections: Connections;
  readonly #shared: SharedPlaces;
  #isCutOff = false;

  constructor(options: PresenceOptions) {
    this.#options = options;
    const { graceMs, herdMs, wallOf } = options;
    const certainty = new Certainty(graceMs, herdMs);
    const minions = this.#minions;
    const places = new Places(certainty);
    const questions = new Questions(certainty, options);
    const parts = { certainty, minions, places, questions, wallOf };
    this.#certainty = certainty;
    this.#places = places;
    this.#questions = questions;
    this.#connections = new Connections(parts);
    this.#shared = new SharedPlaces(parts, this.#connections);
    this.publishers = new Publishers(this.#connections);
  }

  // What comes in.

  /** A publisher has reported. */
  takeReport(report: PublisherReport, now: number): void {
    this.#certainty.now = now;
    this.publishers.take(report, now);
  }

  /** These minions proved themselves to processes. */
  takeProofs(proofs: readonly Proof[], now: number): void {
    this.#certainty.now = now;
    for (const proof of proofs) this.#prove(proof, now - proof.agoMs);
  }

  /** What the owner before saved: publishers that it knew, and minions. */
  restore(
    publishers: readonly { readonly by: string; readonly host: string }[],
    saved: Iterable<SavedMinion>,
    now: number,
  ): void {
    this.#certainty.now = now;
    this.#certainty.herd();
    for (const { by, host } of publishers) this.publishers.expect(by, host, now);
    const minions = this.#minions;
    const removed: SavedMinion[] = [];
    for (const one of saved) {
      if (this.#options.isAccepted(one.id)) this.#restore(one, now);
      else removed.push(one);
    }
    minions.allSaved();
    for (const one of removed) minions.restoreRemoved(one);
  }

  /** This process is cut off from the bus: silence means nothing until it is back. */
  cutOff(now: number): void {
    this.#isCutOff = true;
    this.#startAgain(now);
  }

  /** It is back after it was cut off or paused. Reports may have been lost. */
  resumed(now: number): void {
    this.#isCutOff = false;
    this.#startAgain(now);
    this.publishers.doubt(now);
  }

  // What goes out.

  /**
   * Makes the verdicts that are due, and returns the minions that have to be asked whether they are
   * there. Call it about each second.
   */
  judge(now: number): readonly string[] {
    const certainty = this.#certainty;
    certainty.now = now;
    if (this.#isCutOff) return [];
    this.publishers.checkSilence(now);
    if (!this.publishers.isSure) {
      if (certainty.isSure) this.#connections.askAgain();
      certainty.unsure();
      return [];
    }
    certainty.sure(this.publishers.knownMs);
    // Minions that are on their way back can not answer.
    const asked = certainty.isHerd ? [] : this.#questions.take();
    if (certainty.isSettled) this.#judgeAll();
    for (const place of [...this.#places.comebacks]) this.#shared.judgeComeback(place);
    return asked.map(({ id }) => id);
  }

  /** The question to these did not go out. */
  notAsked(ids: readonly string[]): void {
    this.#questions.undo(
      ids.map((id) => this.#minions.byId.get(id)).filter((minion) => minion !== undefined),
    );
  }

  /** What changed since it was confirmed last. Ids that the master accepts no more are lost. */
  changes(): PresenceChanges {
    for (const minion of this.#minions.byId.values()) {
      if (!this.#options.isAccepted(minion.id)) this.#connections.forget(minion);
    }
    return this.#minions.changes();
  }

  /** These changes were reported. What changed since they were made is part of the next ones. */
  confirm(changes: PresenceChanges): void {
    this.#minions.confirm(changes);
  }

  /** The shards that differ from what was saved last, whole; each comes once. */
  takeUnsaved(): ReadonlyMap<number, readonly SavedMinion[]> {
    return this.#minions.takeUnsaved();
  }

  /** These shards could not be saved. */
  notSaved(shards: Iterable<number>): void {
    this.#minions.notSaved(shards);
  }

  /** All ids that are known. */
  ids(): Iterable<string> {
    return this.#minions.byId.keys();
  }

  /** What is known of a minion; undefined where it never proved itself. */
  known(id: string): KnownMinion | undefined {
    const minion = this.#minions.byId.get(id);
    return minion === undefined ? undefined : knownOf(minion);
  }

  /** How many minions are connected to the publishers of each host. */
  byHost(): ReadonlyMap<string, number> {
    const connected = new Map<string, number>();
    for (const { host } of this.publishers.all) connected.set(host, 0);
    for (const { state, places } of this.#minions.byId.values()) {
      if (!state.present) continue;
      const hosts = new Set<string>();
      for (const { counts } of places) {
        for (const { by, count } of counts) if (count > 0) hosts.add(by.host);
      }
      for (const host of hosts) connected.set(host, (connected.get(host) ?? 0) + 1);
    }
    return connected;
  }

  stats(): PresenceStats {
    let unclear = 0;
    for (const { present } of this.#places.short) unclear += present;
    return {
      known: this.#minions.byId.size,
      present: this.#minions.present,
      ended: this.#minions.count('ended'),
      unclear,
      asking: this.#questions.open,
      asked: this.#questions.asked,
      strangers: this.#places.strangers.size,
      publishers: [...this.publishers.all].length,
      sure: this.#certainty.isSure,
    };
  }

  #restore(saved: SavedMinion, now: number): void {
    const minion = this.#minions.restore(saved);
    // Oldest first: the address that was first is first again.
    for (const address of [...saved.addresses].reverse()) {
      this.#connections.proven(minion, address, now);
    }
    this.#connections.check(minion);
  }

  #startAgain(now: number): void {
    this.#certainty.now = now;
    this.#certainty.unsure();
    this.#connections.askAgain();
  }

  #prove({ id, address, answers }: Proof, atMs: number): void {
    if (!this.#options.isAccepted(id)) return;
    const connections = this.#connections;
    const minion = this.#minions.at(id);
    minion.provenMs = Math.max(minion.provenMs, atMs);
    minion.silentMs = undefined;
    if (address !== '') connections.proven(minion, address, atMs);
    const hasAnswered = answers && this.#questions.answered(minion, atMs);
    if (hasConnection(minion)) {
      connections.happens(minion, 'arrives');
      return;
    }
    if (hasAnswered) connections.happens(minion, 'answers');
    if (this.#certainty.now >= minion.pausedUntilMs) connections.happens(minion, 'calls');
  }

  // Verdicts.

  #judgeAll(): void {
    for (const minion of this.#minions.in('ended')) this.#judgeEnded(minion);
    for (const place of [...this.#places.short]) this.#shared.judgeShortage(place);
    for (const minion of this.#minions.in('elsewhere')) this.#judgeElsewhere(minion);
    for (const minion of this.#minions.in('unplaced')) this.#judgeUnplaced(minion);
  }

  /** Its last connection has ended: has it moved, or is it gone? */
  #judgeEnded(minion: Minion): void {
    const { state } = minion;
    if (state.is !== 'ended' || this.#certainty.knownMs < state.dueMs) return;
    const questions = this.#questions;
    // Its old connection may have ended long after it came from elsewhere.
    const mayHaveMoved = this.#places.mayHide && questions.mayAsk(minion);
    if (state.inquiry === undefined && mayHaveMoved) {
      state.inquiry = questions.ask(minion);
    } else if (state.inquiry === undefined || questions.isSilent(state)) {
      this.#connections.happens(minion, 'is lost');
    }
  }

  /** It answered once, without a connection at its addresses. */
  #judgeElsewhere(minion: Minion): void {
    const { state } = minion;
    if (state.is !== 'elsewhere') return;
    const { now } = this.#certainty;
    const questions = this.#questions;
    if (!questions.isAllowed) {
      const isOld = now - minion.provenMs > this.#options.provenForMs;
      if (isOld || this.#places.strangers.size === 0) this.#connections.happens(minion, 'is lost');
      return;
    }
    if (now < state.untilMs) return;
    if (questions.isSilent(state) || !questions.mayAsk(minion)) {
      this.#connections.happens(minion, 'is lost');
    } else {
      state.inquiry ??= questions.ask(minion);
    }
  }

  /** It makes requests, and its addresses have no connection. */
  #judgeUnplaced(minion: Minion): void {
    const { state } = minion;
    if (state.is !== 'unplaced') return;
    const { now, graceMs } = this.#certainty;
    const questions = this.#questions;
    if (this.#places.strangers.size === 0) {
      this.#connections.happens(minion, 'drops');
    } else if (!questions.mayAsk(minion)) {
      // A minion whose addresses had a connection once has none now, though it makes requests.
      this.#connections.happens(minion, minion.wasConnected ? 'drops' : 'answers');
    } else if (questions.isSilent(state)) {
      this.#connections.happens(minion, 'drops');
      minion.pausedUntilMs = now + ELSEWHERE_MS;
    } else if (now - state.sinceMs >= graceMs) {
      state.inquiry ??= questions.ask(minion);
    }
  }
}
