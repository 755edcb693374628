import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Bucket,
  type BucketEntry,
  type BucketKey,
  type BucketWatch,
  changeValue,
  escapeKey,
  PauseWatch,
  splitKey,
} from '@brine/bus';
import type { SecretBox } from '@brine/crypt';
import { fromHotState, reachableBucket } from '@brine/master-state';
import { mapOf, type SaltMap } from '@brine/wire';
import { StoredRun, type RunStorePorts } from './held-run.ts';
import { ENDED, headOf, type RunHead, RUNNER, type RunRecord, RunRecords } from './run-record.ts';

/** How a worker keeps its runs, and takes those of others. Times in ms. */
export interface OwnedRunOptions {
  /** A worker whose beats stay away so long has lost its runs. It stops itself at two thirds. */
  readonly leaseMs?: number;
  /** Runs under way in the cluster, without those of kind `runner`. */
  readonly maxRuns?: number;
  /** Runs of kind `runner`. */
  readonly maxRunners?: number;
}

/** What a store of runs works with. */
export interface OwnedRunParts {
  readonly bucket: Bucket;
  readonly box: SecretBox;
  /** Id of this worker. */
  readonly workerId: string;
  /** Kinds that this worker can go on with. */
  readonly kinds: ReadonlySet<string>;
  /** Called with a run that another worker had; its promise ends with that work. */
  readonly takeOver: (run: StoredRun) => Promise<void>;
  /** The error of a run that is another worker's. */
  readonly releasedError: (jid: string) => Error;
  readonly onTrouble: (text: string, err?: unknown) => void;
}

/** A run that any worker may see. */
export interface FoundRun extends RunHead {
  readonly jid: string;
  readonly ended: boolean;
  readonly data: SaltMap;
  /** What began it. */
  readonly call: SaltMap;
}

/** A record as the bucket had it last. */
interface Known extends RunHead {
  readonly value: Uint8Array;
  readonly revision: number;
  /** Since when this worker knows of this owner, by its own clock. */
  readonly sinceMs: number;
}

const LEASE_MS = 10_000;
const MAX_RUNS = 256;
const MAX_RUNNERS = 1_000;
const MAX_MESSAGES = 200;
/** How often the clock is looked at; beats go out at a quarter of the lease. */
const LOOK_MS = 250;
/** A longer time between two looks was a pause of this process. */
const PAUSE_MS = 1_500;
/** Workers do not all reach for a free run at the same moment. */
const SPREAD_MS = 300;
/** A run that was moved so often and saved nothing ends the workers that take it. */
const TAKEOVERS_MAX = 5;
/** How long a list of runs waits for the bucket. */
const LIST_WAIT_MS = 3_000;
/** Between two tries to write while the bucket is away. */
const RETRY_MS = 200;
const WHAT = 'the record of runs';
/** After a run could not be taken, it is left alone for so long. */
const AGAIN_MS = 2_000;

/**
 * Long work of the cluster in the bucket `brine_runs`. A worker that has runs writes a beat now and
 * then; the beats of one worker stand for all its runs. A run whose owner has been silent for a
 * lease is taken by compare-and-set, so only one worker gets it. Each save is one too: a worker
 * that was wrong about its lease can save nothing more.
 *
 * Silence counts only while this worker itself listens. After a pause of its own, or of its
 * connection, it listens for a whole lease again.
 */
export class OwnedRunStore {
  readonly #parts: OwnedRunParts;
  readonly #bucket: ReturnType<typeof reachableBucket>;
  readonly #records: RunRecords;
  readonly #leaseMs: number;
  readonly #limits: { readonly runs: number; readonly runners: number };
  readonly #known = new Map<string, Known>();
  readonly #messages = new Map<string, readonly SaltMap[]>();
  /** When a beat of a worker was last heard, and its revision. */
  readonly #beats = new Map<string, { readonly atMs: number; readonly revision: number }>();
  readonly #owned = new Map<string, StoredRun>();
  /** Runs on the way to this worker or away from it. */
  readonly #busy = new Set<string>();
  /** Runs that could not be taken, and when to try again. */
  readonly #notBefore = new Map<string, number>();
  readonly #watch: BucketWatch;
  readonly #pauses: PauseWatch;
  readonly #ports: RunStorePorts;
  #listeningSince = performance.now();
  #leasedUntil = -Infinity;
  #beatAt = -Infinity;
  #beating: Promise<void> | undefined;
  #leaving = false;

  constructor(parts: OwnedRunParts, options: OwnedRunOptions = {}) {
    this.#parts = parts;
    this.#bucket = reachableBucket(WHAT, parts.bucket);
    this.#records = new RunRecords(parts.box);
    this.#leaseMs = options.leaseMs ?? LEASE_MS;
    this.#limits = {
      runs: options.maxRuns ?? MAX_RUNS,
      runners: options.maxRunners ?? MAX_RUNNERS,
    };
    this.#ports = {
      isLeased: () => performance.now() < this.#leasedUntil,
      write: (jid, record, revision) => this.#write(jid, record, revision),
      writeInput: (jid, fixed) => this.#writeInput(jid, fixed),
      remove: (held, last) => this.#remove(held, last),
      released: (held) => {
        if (this.#owned.get(held.jid) === held) this.#owned.delete(held.jid);
      },
      releasedError: parts.releasedError,
    };
    this.#watch = parts.bucket.watch({
      onChange: (entry) => this.#changed(entry),
      onReset: () => this.#reset(),
      onReady: () => (this.#listeningSince = performance.now()),
    });
    this.#pauses = new PauseWatch({
      everyMs: Math.min(LOOK_MS, this.#leaseMs / 8),
      gapMs: PAUSE_MS,
      onBeat: () => this.#look(),
      onPause: () => (this.#listeningSince = performance.now()),
    });
  }

  /** Resolves when all records have come. @throws BusError `BUS_CLOSED` */
  whenReady(): Promise<void> {
    return this.#watch.whenReady();
  }

  /** Runs of this worker, and of the cluster. */
  stats(): { readonly held: number; readonly known: number } {
    return { held: this.#owned.size, known: this.#known.size };
  }

  /**
   * Begins a run as this worker's; see OwnedRuns.begin of @brine/runners.
   * @param by what another worker needs to know of the call
   */
  async begin(
    kind: string,
    jid: string,
    about: { readonly data: SaltMap; readonly by: SaltMap; readonly fixed?: SaltMap | undefined },
  ): Promise<StoredRun> {
    const outer = this.#owned.get(jid);
    this.#refuseBeyond(kind);
    const { data, by, fixed = mapOf({}) } = about;
    if (outer?.kind === RUNNER && kind !== RUNNER) {
      await this.#leased();
      await outer.saveInput(fixed, data, kind, RUNNER);
      return outer;
    }
    const fixedAt = fixed.size === 0 ? {} : { fixedAt: await this.#writeInput(jid, fixed) };
    const owner = this.#parts.workerId;
    const record: RunRecord = { kind, owner, call: by, data, takeovers: 0, ...fixedAt };
    const value = this.#records.write(jid, record);
    this.#busy.add(jid);
    try {
      await this.#leased();
      const revision = await this.#bucket.create(runKey(jid), value);
      if (revision === undefined) throw new Error(`a run with the job id ${jid} is there already`);
      return this.#own(jid, record, revision, fixed);
    } finally {
      this.#busy.delete(jid);
    }
  }

  /** All runs under way, without runners. @throws MasterUnavailableError */
  async list(): Promise<readonly FoundRun[]> {
    await this.#allKnown();
    return [...this.#known]
      .filter(([, { kind }]) => kind !== RUNNER)
      .map(([jid, { value }]) => this.#found(jid, value))
      .filter((run) => run !== undefined);
  }

  /** What began each run that is under way, runners too. @throws MasterUnavailableError */
  async calls(): Promise<readonly { jid: string; owner: string; by: SaltMap }[]> {
    await this.#allKnown();
    return [...this.#known].flatMap(([jid, { value }]) => {
      const record = this.#records.read(jid, value);
      if (record === undefined || record.owner === ENDED) return [];
      return [{ jid, owner: record.owner, by: record.call }];
    });
  }

  async #allKnown(): Promise<void> {
    const late = sleep(LIST_WAIT_MS, undefined, { ref: false }).then(() => {
      throw new Error('the bucket does not answer');
    });
    await fromHotState(WHAT, Promise.race([this.#watch.whenReady(), late]));
  }

  /** One run by its record at the source, also one that left a last word. */
  async find(jid: string): Promise<FoundRun | undefined> {
    const entry = await this.#bucket.get(runKey(jid));
    return entry === undefined ? undefined : this.#found(jid, entry.value);
  }

  async #inputOf(jid: string, { inputKey: fixedAt }: RunRecord): Promise<SaltMap> {
    if (fixedAt === undefined) return mapOf({});
    const entry = await this.#bucket.get(inputKeyOf(jid, fixedAt));
    return this.#records.readInput(jid, entry?.value ?? GONE);
  }

  /** Leaves a word; false where no run is under way. @throws Error for too many */
  async send(jid: string, word: SaltMap): Promise<boolean> {
    const found = await this.find(jid);
    if (found === undefined || found.ended) return false;
    return changeValue(this.#bucket, messagesKey(jid), (entry) => {
      const words = entry === undefined ? [] : this.#records.readMessages(jid, entry.value);
      if (words.length >= MAX_MESSAGES) throw new Error(`the run ${jid} was told too much already`);
      return { answer: true, value: this.#records.writeMessages(jid, [...words, word]) };
    });
  }

  /** The words that were left for a run which is under way, in their order. */
  messages(jid: string): readonly SaltMap[] {
    return this.#messages.get(jid) ?? [];
  }

  /** Hands on what another worker can go on with, at once; nothing more is taken from now on. */
  async handOver(): Promise<void> {
    this.#leaving = true;
    await Promise.all(
      [...this.#owned.values()]
        .filter(({ kind }) => kind !== RUNNER)
        .map((held) => this.#handOn(held)),
    );
  }

  /** Hands on everything, also runners that are cut off, and ends. */
  async close(): Promise<void> {
    this.#leaving = true;
    await Promise.all([...this.#owned.values()].map((held) => this.#handOn(held)));
    this.#pauses.close();
    this.#watch.close();
  }

  /** Frees a run for another worker. */
  async #handOn(held: StoredRun): Promise<void> {
    const { jid } = held;
    this.#busy.add(jid);
    try {
      // After the writes that are under way: theirs is the revision to write over.
      await held.rewrite((record) => ({ ...record, owner: '' }));
    } catch (err) {
      if (!held.released.aborted) this.#parts.onTrouble(`run ${jid} could not be handed on`, err);
    } finally {
      held.release();
      this.#busy.delete(jid);
    }
  }

  #refuseBeyond(kind: string): void {
    const isRunner = kind === RUNNER;
    const limit = isRunner ? this.#limits.runners : this.#limits.runs;
    let count = 0;
    for (const known of this.#known.values()) if ((known.kind === RUNNER) === isRunner) count += 1;
    if (count >= limit) throw new Error(`${limit} runs are under way: try again later`);
  }

  /** Under a name of its own: a worker that has lost the run can not write over it. */
  async #writeInput(jid: string, fixed: SaltMap): Promise<string> {
    const value = this.#records.writeInput(jid, fixed);
    const name = randomBytes(6).toString('hex');
    await this.#bucket.put(inputKeyOf(jid, name), value);
    return name;
  }

  #own(jid: string, record: RunRecord, revision: number, fixed: SaltMap): StoredRun {
    const held = new StoredRun(this.#ports, { jid, record, revision, fixed });
    this.#owned.set(jid, held);
    held.deliver(this.#messages.get(jid) ?? []);
    return held;
  }

  #write(jid: string, record: RunRecord, revision: number): Promise<number | undefined> {
    return this.#update(jid, this.#records.write(jid, record), revision);
  }

  /** Tries while the lease holds: a bucket that is away for less than that stops no run. */
  async #update(jid: string, value: Uint8Array, revision: number): Promise<number | undefined> {
    for (;;) {
      try {
        return await this.#bucket.update(runKey(jid), value, revision);
      } catch (err) {
        if (!this.#ports.isLeased()) throw err;
        await sleep(RETRY_MS);
      }
    }
  }

  async #remove(held: StoredRun, last: SaltMap | undefined): Promise<void> {
    const { jid, replacesKind: under, call: by, kind, inputKey: fixedAt } = held;
    if (under !== undefined && last === undefined) {
      const data = mapOf({});
      await held.rewrite((record) => ({ ...record, kind: under, data, replacesKind: undefined }));
      return;
    }
    const ended: RunRecord = { kind, owner: ENDED, call: by, data: last ?? mapOf({}), takeovers: 0 };
    const value = last === undefined ? GONE : this.#records.write(jid, ended);
    this.#busy.add(jid);
    try {
      const removed = await this.#update(jid, value, held.revision);
      if (removed === undefined) throw this.#parts.releasedError(jid);
      const rest = [
        ...(fixedAt === undefined ? [] : [inputKeyOf(jid, fixedAt)]),
        ...(this.#messages.has(jid) ? [messagesKey(jid)] : []),
      ];
      // They go by their age in any case.
      await Promise.all(rest.map((key) => this.#bucket.put(key, GONE).catch(() => 0)));
    } finally {
      held.release();
      this.#busy.delete(jid);
    }
  }

  #found(jid: string, value: Uint8Array): FoundRun | undefined {
    const record = this.#records.read(jid, value);
    if (record === undefined) return undefined;
    const { kind, owner, data, call: by } = record;
    const ended = owner === ENDED;
    return { jid, kind, owner: ended ? '' : owner, ended, data, call: by };
  }

  // What the bucket tells.

  #changed({ key, value, revision }: BucketEntry): void {
    const [what, name = ''] = splitKey(key);
    if (what === 'run') this.#runChanged(name, value, revision);
    if (what === 'beat') this.#beats.set(name, { atMs: performance.now(), revision });
    if (what !== 'words') return;
    if (value.length === 0) this.#messages.delete(name);
    else this.#messages.set(name, this.#records.readMessages(name, value));
    this.#owned.get(name)?.deliver(this.#messages.get(name) ?? []);
  }

  #runChanged(jid: string, value: Uint8Array, revision: number): void {
    const head = headOf(value);
    const held = this.#owned.get(jid);
    const isOurs = head?.owner === this.#parts.workerId;
    // Our own writes come back late; only what is newer than them can be another worker's.
    if (held !== undefined && !isOurs && revision > held.revision && !this.#busy.has(jid)) {
      held.release();
    }
    if (head === undefined || head.owner === ENDED) {
      this.#known.delete(jid);
      this.#notBefore.delete(jid);
      return;
    }
    const before = this.#known.get(jid);
    const sinceMs = before?.owner === head.owner ? before.sinceMs : performance.now();
    this.#known.set(jid, { ...head, value, revision, sinceMs });
  }

  #reset(): void {
    this.#known.clear();
    this.#messages.clear();
    this.#beats.clear();
    this.#listeningSince = performance.now();
  }

  // The clock.

  #look(): void {
    const now = performance.now();
    if (this.#owned.size > 0 && now >= this.#leasedUntil) {
      for (const held of [...this.#owned.values()]) if (held.kind !== RUNNER) held.release();
    }
    const isDue = now - this.#beatAt >= this.#leaseMs / 4;
    if (this.#owned.size > 0 && isDue) this.#beat().catch(() => undefined);
    if (!this.#watch.ready) {
      this.#listeningSince = now;
      return;
    }
    if (this.#leaving) return;
    for (const [jid, known] of this.#known) {
      if (this.#isFree(jid, known, now)) void this.#take(jid, known);
    }
  }

  #isFree(jid: string, { owner, kind, sinceMs }: Known, now: number): boolean {
    if (this.#owned.has(jid) || this.#busy.has(jid)) return false;
    if (!this.#parts.kinds.has(kind) || now < (this.#notBefore.get(jid) ?? 0)) return false;
    // Our own that we do not hold: we lost it when we could not write our beats.
    if (owner === '' || owner === this.#parts.workerId) return true;
    const heardMs = Math.max(this.#beats.get(owner)?.atMs ?? sinceMs, this.#listeningSince);
    return now - heardMs >= this.#leaseMs;
  }

  async #take(jid: string, { owner, revision, value }: Known): Promise<void> {
    this.#busy.add(jid);
    let held: StoredRun | undefined;
    try {
      // A worker with many runs is slower to reach for one more.
      await sleep(Math.random() * SPREAD_MS + Math.min(this.#owned.size, 20) * 50);
      if (this.#leaving || (await this.#isAlive(owner))) return;
      const record = this.#records.read(jid, value);
      if (record === undefined) return;
      await this.#leased();
      const mine = { ...record, owner: this.#parts.workerId, moves: record.takeovers + 1 };
      const written = this.#records.write(jid, mine);
      const taken = await this.#bucket.update(runKey(jid), written, revision);
      if (taken === undefined) return;
      const fixed = await this.#inputOf(jid, record);
      held = this.#own(jid, mine, taken, fixed);
      this.#notBefore.delete(jid);
    } catch (err) {
      this.#notBefore.set(jid, performance.now() + AGAIN_MS);
      this.#parts.onTrouble(`run ${jid} could not be taken over`, err);
    } finally {
      this.#busy.delete(jid);
    }
    if (held !== undefined) await this.#resume(held);
  }

  async #resume(held: StoredRun): Promise<void> {
    try {
      await this.#parts.takeOver(held);
    } catch (err) {
      if (held.released.aborted) return;
      this.#parts.onTrouble(`run ${held.jid} could not be gone on with`, err);
      await this.#handOn(held);
    }
  }

  /** Whether the owner has written a beat that has not come here yet. */
  async #isAlive(owner: string): Promise<boolean> {
    if (owner === '' || owner === this.#parts.workerId) return false;
    const entry = await this.#bucket.get(beatKey(owner));
    const seen = this.#beats.get(owner)?.revision ?? 0;
    if (entry === undefined || entry.revision <= seen) return false;
    this.#beats.set(owner, { atMs: performance.now(), revision: entry.revision });
    return true;
  }

  /** Resolves once this worker has a lease. */
  async #leased(): Promise<void> {
    if (performance.now() < this.#leasedUntil - this.#leaseMs / 3) return;
    await this.#beat();
  }

  #beat(): Promise<void> {
    this.#beating ??= this.#writeBeat().finally(() => (this.#beating = undefined));
    return this.#beating;
  }

  async #writeBeat(): Promise<void> {
    const sentAt = performance.now();
    this.#beatAt = sentAt;
    await this.#bucket.put(beatKey(this.#parts.workerId), randomBytes(4));
    // Others count from when they hear of it, which is later than when it was sent.
    this.#leasedUntil = Math.max(this.#leasedUntil, sentAt + (this.#leaseMs * 2) / 3);
  }
}

/**
 * Hands a run to the cluster: a worker takes it at once. For a service that takes none itself.
 * @returns false where a run of this jid is or was there
 */
export async function offerRun(
  { bucket, box }: Pick<OwnedRunParts, 'bucket' | 'box'>,
  kind: string,
  jid: string,
  { data, by }: { readonly data: SaltMap; readonly by: SaltMap },
): Promise<boolean> {
  const record: RunRecord = { kind, owner: '', call: by, data, takeovers: 0 };
  const created = bucket.create(runKey(jid), new RunRecords(box).write(jid, record));
  return (await fromHotState(WHAT, created)) !== undefined;
}

/** Whether a run was moved so often without a save that it must not be tried again. */
export function isPoison({ takeovers: moves }: Pick<StoredRun, 'moves'>): boolean {
  return moves > TAKEOVERS_MAX;
}

/** What stands in place of a removed record: a bucket has no delete. */
const GONE = new Uint8Array(0);

function runKey(jid: string): BucketKey {
  return escapeKey('run', jid);
}

function inputKeyOf(jid: string, name: string): BucketKey {
  return escapeKey('fixed', jid, name);
}

function messagesKey(jid: string): BucketKey {
  return escapeKey('words', jid);
}

function beatKey(workerId: string): BucketKey {
  return escapeKey('beat', workerId);
}
