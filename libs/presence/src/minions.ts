import { claimOf } from './address.ts';
import type { Minion, MinionState } from './known.ts';
import { type SavedMinion, shardOf } from './saved.ts';
import { AWAY, CONNECTED, type MinionEvent, type Moment, stateAfter } from './states.ts';

/** Changes since the last event, ids sorted. */
export interface PresenceChanges {
  readonly present: readonly string[];
  readonly added: readonly string[];
  readonly lost: readonly string[];
}

/** States that a verdict ends. */
type Waiting = 'ended' | 'elsewhere' | 'unplaced';

/** All minions that ever proved themselves, and what of them is to be reported and saved. */
export class Minions {
  readonly #byId = new Map<string, Minion>();
  /** By claim; made when a connection with a claim comes first. */
  #byClaim: Map<string, Minion> | undefined;
  readonly #waiting: { readonly [State in Waiting]: Set<Minion> } = {
    ended: new Set(),
    elsewhere: new Set(),
    unplaced: new Set(),
  };
  /** Ids that were reported as present, and whose keys are not accepted any more. */
  readonly #removed = new Set<string>();
  readonly #unsaved = new Set<number>();
  #present = 0;

  get byId(): ReadonlyMap<string, Minion> {
    return this.#byId;
  }

  /** How many are present. */
  get present(): number {
    return this.#present;
  }

  /** Whether some connection has a claim. */
  get hasLiveWorker(): boolean {
    return this.#byClaim !== undefined;
  }

  /** The minion of this id, from now on at the latest. */
  at(id: string): Minion {
    let minion = this.#byId.get(id);
    if (minion === undefined) {
      minion = newMinion(id);
      this.#byId.set(id, minion);
      this.#byClaim?.set(claimOf(id), minion);
    }
    return minion;
  }

  /** The minion that a connection claims to be of. */
  claiming(claim: string): Minion | undefined {
    this.#byClaim ??= new Map([...this.#byId].map(([id, minion]) => [claimOf(id), minion]));
    return this.#byClaim.get(claim);
  }

  /** The minions that are in a state now. */
  in(state: Waiting): readonly Minion[] {
    return [...this.#waiting[state]];
  }

  count(state: Waiting): number {
    return this.#waiting[state].size;
  }

  /** Gives a minion the state that follows an event. */
  move(minion: Minion, event: MinionEvent, moment: Moment): void {
    const before = minion.state;
    const state = stateAfter(before, event, moment);
    minion.state = state;
    if (state.is === before.is) return;
    this.#waitingAs(before)?.delete(minion);
    this.#waitingAs(state)?.add(minion);
    if (state.present !== before.present) this.#present += state.present ? 1 : -1;
  }

  /** The key of a minion is not accepted any more. */
  remove(minion: Minion): void {
    this.#byId.delete(minion.id);
    this.#byClaim?.delete(claimOf(minion.id));
    this.#waitingAs(minion.state)?.delete(minion);
    if (minion.state.present) this.#present -= 1;
    // An inquiry may still have it.
    minion.state = AWAY;
    this.#unsaved.add(minion.shard);
    if (minion.reported) this.#removed.add(minion.id);
  }

  /** Adds a minion as it was saved. */
  restore({ id, present, sinceMs, goneMs, wasConnected }: SavedMinion): Minion {
    const minion = this.at(id);
    minion.state = present ? CONNECTED : AWAY;
    minion.reported = present;
    minion.sinceMs = sinceMs;
    minion.goneMs = goneMs;
    minion.wasConnected = wasConnected;
    if (present) this.#present += 1;
    return minion;
  }

  /** A saved minion whose key is not accepted any more. */
  restoreRemoved({ id, present }: SavedMinion): void {
    this.#unsaved.add(shardOf(id));
    if (present) this.#removed.add(id);
  }

  /** What differs from what was reported last. */
  changes(): PresenceChanges {
    const present: string[] = [];
    const added: string[] = [];
    const lost = [...this.#removed];
    for (const { id, state, reported } of this.#byId.values()) {
      if (state.present) present.push(id);
      if (state.present && !reported) added.push(id);
      if (!state.present && reported) lost.push(id);
    }
    return { present: present.sort(), added: added.sort(), lost: lost.sort() };
  }

  /** These changes were reported. What changed since they were made is part of the next ones. */
  confirm({ added, lost }: PresenceChanges): void {
    for (const id of lost) this.#removed.delete(id);
    const reported = new Map<string, boolean>();
    for (const id of lost) reported.set(id, false);
    // A minion whose key was accepted again is in both.
    for (const id of added) reported.set(id, true);
    for (const [id, isPresent] of reported) {
      const minion = this.#byId.get(id);
      if (minion === undefined || minion.reported === isPresent) continue;
      minion.reported = isPresent;
      this.changed(minion);
    }
  }

  /** All records are as they were saved. */
  allSaved(): void {
    this.#unsaved.clear();
  }

  /** The record of a minion differs from what was saved last. */
  changed({ shard }: Minion): void {
    this.#unsaved.add(shard);
  }

  /** The shards that differ from what was saved last, whole; each comes once. */
  takeUnsaved(): ReadonlyMap<number, readonly SavedMinion[]> {
    const shards = new Map<number, SavedMinion[]>();
    for (const shard of this.#unsaved) shards.set(shard, []);
    this.#unsaved.clear();
    if (shards.size === 0) return shards;
    for (const minion of this.#byId.values()) {
      const { id, reported: present, sinceMs, goneMs, wasConnected } = minion;
      const addresses = minion.addresses.map(({ address }) => address);
      shards.get(minion.shard)?.push({ id, present, sinceMs, goneMs, wasConnected, addresses });
    }
    return shards;
  }

  /** These shards could not be saved. */
  notSaved(shards: Iterable<number>): void {
    for (const shard of shards) this.#unsaved.add(shard);
  }

  #waitingAs({ is }: MinionState): Set<Minion> | undefined {
    return is === 'away' || is === 'connected' ? undefined : this.#waiting[is];
  }
}

function newMinion(id: string): Minion {
  return {
    id,
    shard: shardOf(id),
    addresses: [],
    places: [],
    state: AWAY,
    reported: false,
    sinceMs: 0,
    goneMs: 0,
    provenMs: -Infinity,
    wasConnected: false,
    inquiry: undefined,
    pausedUntilMs: -Infinity,
    silentMs: undefined,
  };
}
