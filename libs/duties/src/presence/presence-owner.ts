import { createHash, randomUUID } from 'node:crypto';
import { type Bus, PauseWatch } from '@brine/bus';
import { onPresence, publishPresence, serve } from '@brine/bus/rpc';
import type { StoredRun } from '@brine/cluster-work';
import { PRESENCE_QUESTIONS } from '@brine/master-ports';
import {
  Presence,
  type PresenceChanges,
  readProofs,
  readReport,
  type SavedMinion,
} from '@brine/presence';
import { Releasers } from '@brine/service';
import { sleepUnless, type Trouble } from '@brine/tasks';
import { intOf, listOf, mapOf, type SaltMap } from '@brine/wire';
import { answerPresence } from './answer-presence.ts';
import type { PresenceRecords } from './presence-records.ts';

export interface PresenceOwnerParts {
  readonly bus: Bus;
  readonly records: Pick<PresenceRecords, 'read' | 'write'>;
  /** Salt: `presence_events`. Without it no event is fired, and no minion is asked. */
  readonly fires: boolean;
  /** Salt: `loop_interval`, ms. */
  readonly intervalMs: number;
  readonly graceMs: number;
  /** For tests: time after a publisher's start in which no minion counts as lost. */
  readonly herdMs?: number;
  readonly provenForMs: number;
  /** Keys of minions; `isReady` is false while they are read again. */
  readonly keys: { accepted(): ReadonlySet<string>; isReady(): boolean };
  /** Ids of syndics that answer no jobs. */
  readonly unanswering: () => ReadonlySet<string>;
  /** Asks minions whether they are connected; resolves when the question is stored. */
  readonly ask: (ids: readonly string[]) => Promise<void>;
  /** Filters ids by recent activity in the job cache, for the first owner ever. */
  readonly seenLately: (ids: readonly string[]) => Promise<readonly string[]>;
  /** Stores an event, once per `msgId`. */
  readonly fire: (tag: string, data: SaltMap, msgId: string) => Promise<void>;
  readonly onTrouble: Trouble;
}

type OwnRun = Pick<StoredRun, 'data' | 'released' | 'check' | 'save'>;

const LOOK_MS = 1_000;
/** A longer interval means that this process was paused. */
const PAUSE_MS = 3_000;
/** Interval at which publishers are asked to report while none is known. */
const HELLO_MS = 5_000;
/** Delay after a change could not be reported, ms. */
const RETRY_MS = 5_000;
const KEYS_LOOK_MS = 250;
/** Limit of minions in one question to the job cache. */
const ASKED_AT_ONCE = 10_000;

/**
 * Owns the presence of the cluster until its run is released. Receives reports of publishers and
 * workers, asks minions, fires Salt's events, and saves the reported state.
 */
export class PresenceOwner {
  readonly #parts: PresenceOwnerParts;
  readonly #presence: Presence;
  #helloAt = -Infinity;
  /** Number of reported changes since the first record; part of the id of the next one. */
  #changes = 0;
  #nextTickAt = 0;
  #inTrouble = false;

  constructor(parts: PresenceOwnerParts) {
    this.#parts = parts;
    const { keys, graceMs, herdMs, provenForMs, fires, unanswering } = parts;
    this.#presence = new Presence({
      graceMs,
      provenForMs,
      asks: fires,
      ...(herdMs === undefined ? {} : { herdMs }),
      isAccepted: (id) => keys.accepted().has(id),
      answers: (id) => !unanswering().has(id),
      wallOf: (ms) => ms - performance.now() + Date.now(),
    });
  }

  /** For the status and the metrics. */
  get presence(): Presence {
    return this.#presence;
  }

  /** Never rejects: failures are retried until the run is released. */
  async work(run: OwnRun): Promise<void> {
    if (!(await this.#begin(run))) return;
    const releasers = this.#open();
    try {
      while (!run.released.aborted) {
        await sleepUnless(this.#nextTickAt - performance.now(), run.released);
        if (!run.released.aborted) await this.#tick(run);
      }
    } finally {
      await releasers.run();
    }
  }

  /** Restores the saved state; false if the run was released meanwhile. */
  async #begin(run: OwnRun): Promise<boolean> {
    const saved = await this.#saved(run);
    if (saved === undefined) return false;
    const isFirst = saved.length === 0 && !run.data.has('told');
    this.#presence.restore(publishersIn(run.data), saved, performance.now());
    if (isFirst) await this.#seed();
    this.#changes = intOf(run.data, 'told') ?? 0;
    const tickedMs = intOf(run.data, 'tickedMs') ?? 0;
    const { intervalMs, onTrouble } = this.#parts;
    const sinceMs = Math.max(0, Math.min(intervalMs, Date.now() - tickedMs));
    const soonMs = Math.min(RETRY_MS, intervalMs);
    this.#nextTickAt = performance.now() + Math.max(soonMs, intervalMs - sinceMs);
    await this.#save(run, tickedMs).catch((err: unknown) => {
      if (!run.released.aborted) onTrouble('presence can not be saved', err);
    });
    return !run.released.aborted;
  }

  /** The state that the previous owner saved; undefined if the run was released meanwhile. */
  async #saved(run: OwnRun): Promise<readonly SavedMinion[] | undefined> {
    const { keys, records, onTrouble } = this.#parts;
    while (!run.released.aborted) {
      // Without keys, every saved minion would seem to have lost its key.
      while (!keys.isReady() && !run.released.aborted)
        await sleepUnless(KEYS_LOOK_MS, run.released);
      try {
        return await records.read();
      } catch (err) {
        onTrouble('presence can not begin', err);
        await sleepUnless(RETRY_MS, run.released);
      }
    }
    return undefined;
  }

  /** A master without earlier presence starts with the minions that are in the job cache. */
  async #seed(): Promise<void> {
    const { keys, seenLately, onTrouble } = this.#parts;
    const all = [...keys.accepted()];
    try {
      for (let from = 0; from < all.length; from += ASKED_AT_ONCE) {
        const ids = await seenLately(all.slice(from, from + ASKED_AT_ONCE));
        const seen = ids.map((id) => ({ id, address: '', agoMs: 0, answers: false }));
        this.#presence.takeProofs(seen, performance.now());
      }
    } catch (err) {
      // They become known with their next message.
      onTrouble('presence begins without what the job cache knows', err);
    }
  }

  /** Subscribes to publishers and minions; the releasers end that. */
  #open(): Releasers {
    const { bus, onTrouble } = this.#parts;
    const presence = this.#presence;
    const trouble = (err: unknown): void => onTrouble('presence is not received', err);
    const releasers = new Releasers();
    const pauses = new PauseWatch({
      everyMs: LOOK_MS,
      gapMs: PAUSE_MS,
      onBeat: () => this.#look(),
      onPause: () => presence.resumed(performance.now()),
    });
    releasers.add(() => pauses.close());
    const follow = (what: 'told' | 'heard', take: (data: Uint8Array) => void): (() => void) =>
      onPresence(
        bus,
        what,
        (data) => {
          // Messages that arrive after a pause are read before any timer fires.
          pauses.look();
          take(data);
        },
        trouble,
      );
    const serving = serve(bus, PRESENCE_QUESTIONS, (question) =>
      answerPresence(presence, question),
    );
    // Another process owns the run by then, so answers in progress are not awaited.
    releasers.add(() => void serving.close().catch(trouble));
    releasers.add(
      follow('told', (data) => {
        const proofs = readReport(data);
        if (proofs !== undefined) presence.takeReport(proofs, performance.now());
      }),
    );
    releasers.add(
      follow('heard', (data) => {
        const seen = readProofs(data);
        if (seen !== undefined) presence.takeProofs(seen, performance.now());
      }),
    );
    releasers.add(bus.onDisconnect(() => presence.cutOff(performance.now())));
    releasers.add(bus.onReconnect(() => presence.resumed(performance.now())));
    this.#look();
    return releasers;
  }

  #look(): void {
    const { bus, ask } = this.#parts;
    const now = performance.now();
    if (bus.status !== 'connected') return;
    const presence = this.#presence;
    const isAlone = presence.stats().publishers === 0 && now - this.#helloAt >= HELLO_MS;
    if (isAlone || presence.publishers.wantsList) {
      this.#helloAt = now;
      publishPresence(bus, 'hello', new Uint8Array(0));
    }
    const ids = presence.judge(now);
    if (ids.length === 0) return;
    ask(ids).catch((err: unknown) => {
      presence.notAsked(ids);
      this.#trouble('minions could not be asked whether they are there', err);
    });
  }

  /** Fires the changes, then saves them: a change that is reported twice in between has one id. */
  async #tick(run: OwnRun): Promise<void> {
    const { keys, bus, intervalMs } = this.#parts;
    const startedAt = performance.now();
    try {
      this.#nextTickAt = startedAt + Math.min(RETRY_MS, intervalMs);
      if (!keys.isReady() || bus.status !== 'connected') return;
      const changes = this.#presence.changes();
      run.check();
      await this.#fire(changes);
      this.#presence.confirm(changes);
      this.#nextTickAt = startedAt + intervalMs;
      await this.#save(run, Date.now());
      this.#inTrouble = false;
    } catch (err) {
      if (!run.released.aborted) this.#trouble('a change of presence could not be reported', err);
    }
  }

  /** Order of Salt: the change is first (salt/master.py Maintenance.handle_presence). */
  async #fire({ present, added, lost }: PresenceChanges): Promise<void> {
    const { fires, fire } = this.#parts;
    const hasChanged = added.length + lost.length > 0;
    if (fires && hasChanged) {
      const data = mapOf({ new: [...added], lost: [...lost] });
      const digest = createHash('sha1')
        .update(JSON.stringify([added, lost]))
        .digest('base64url');
      await fire('salt/presence/change', data, `presence:${this.#changes}:${digest}`);
    }
    if (hasChanged) this.#changes += 1;
    if (!fires) return;
    const data = mapOf({ present: [...present] });
    await fire('salt/presence/present', data, `presence:${randomUUID()}`);
  }

  async #save(run: OwnRun, tickedMs: number): Promise<void> {
    const { records } = this.#parts;
    const shards = [...this.#presence.takeUnsaved()];
    try {
      for (let at = shards.shift(); at !== undefined; at = shards.shift()) {
        run.check();
        const [shard, minions] = at;
        await records.write(shard, minions).catch((err: unknown) => {
          shards.push([shard, minions]);
          throw err;
        });
      }
    } finally {
      this.#presence.notSaved(shards.map(([shard]) => shard));
    }
    const publishers = [...this.#presence.publishers.all].map(({ by, host }) => [by, host]);
    await run.save(mapOf({ publishers, told: this.#changes, tickedMs }));
  }

  #trouble(text: string, err: unknown): void {
    if (!this.#inTrouble) this.#parts.onTrouble(text, err);
    this.#inTrouble = true;
  }
}

function publishersIn(data: SaltMap): readonly { readonly by: string; readonly host: string }[] {
  return (listOf(data, 'publishers') ?? []).flatMap((one) => {
    const [by, host] = Array.isArray(one) ? one : [];
    return typeof by === 'string' && typeof host === 'string' ? [{ by, host }] : [];
  });
}
