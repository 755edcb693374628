import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Bucket,
  type BucketEntry,
  type BucketWatch,
  changeValue,
  PauseWatch,
  splitKey,
} from '@brine/bus';
import { fromHotState, reachableBucket } from '@brine/master-state';
import type { Trouble } from '@brine/tasks';
import { mapOf, type SaltMap } from '@brine/wire';
import { EndedRuns } from './ended-runs.ts';
import { type FoundRun, foundRun, type NewRun, RunOffers } from './run-offers.ts';
import {
  beatKey,
  CALL,
  ENDED,
  headOf,
  inputKeyOf,
  messagesKey,
  type RecordBox,
  type RunHead,
  runKey,
  RUNNER,
  type RunRecord,
  RunRecords,
  RUNS,
} from './run-record.ts';
import { type RunPorts, StoredRun } from './stored-run.ts';

/** Limits of a {@link RunStore}. Times in ms. */
export interface RunStoreOptions {
  /**
   * A process without a beat for this time no longer owns its runs; it stops itself at two thirds.
   */
  readonly leaseMs?: number;
  /** Maximum of runs in the cluster, without calls of runners. */
  readonly maxRuns?: number;
  /** Maximum of calls of runners in the cluster. */
  readonly maxRunners?: number;
}

/** Dependencies of a {@link RunStore}. */
export interface RunStoreParts {
  readonly bucket: Bucket;
  readonly box: RecordBox;
  /** Id of this process. */
  readonly processId: string;
  /** Age at which the server removes a beat, ms. Only for a bucket without a limit of age. */
  readonly beatLivesMs?: number;
  /** Makes the error of a run that another process owns. */
  readonly releasedError: (jid: string) => Error;
  readonly onTrouble: Trouble;
}

/** Capacity and work of a process that takes runs. */
export interface RunTaker {
  /** Kinds that this process can resume. */
  readonly kinds: ReadonlySet<string>;
  /** True if this process has room for one more run of a kind. */
  readonly hasRoom: (kind: string) => boolean;
  /** Called with each run that this process has taken; the promise ends with its work. */
  readonly takeOver: (run: StoredRun) => Promise<void>;
}

/** The latest known record of a run. */
interface Known extends RunHead {
  readonly value: Uint8Array;
  readonly revision: number;
  /** Time since which this process knows this owner, by its own clock. */
  readonly sinceMs: number;
}

const LEASE_MS = 10_000;
const MAX_RUNS = 256;
const MAX_RUNNERS = 1_000;
const MAX_MESSAGES = 200;
/** Interval of the clock; beats go out at a quarter of the lease. */
const LOOK_MS = 250;
/** A longer interval means that this process was paused. */
const PAUSE_MS = 1_500;
/** Random delay, so that processes do not all take a silent owner's run at once. */
const SPREAD_MS = 300;
/** Extra delay for each run that this process already owns. */
const DELAY_PER_RUN_MS = 10;
const DELAY_RUNS_MAX = 20;
/** A run with more takeovers without a save is treated as one that crashes its processes. */
const TAKEOVERS_MAX = 5;
/** Timeout of a list of runs, ms. */
const LIST_WAIT_MS = 3_000;
/** Between two tries to write while the bucket is unreachable. */
const RETRY_MS = 200;
/** Delay before a run that could not be taken is tried again. */
const RETAKE_MS = 2_000;

/** The two kinds of a runner or wheel call. */
const IS_RUNNER: ReadonlySet<string> = new Set([CALL, RUNNER]);

/**
 * Long work of the cluster, in the bucket `brine_runs` or in a bucket of one service. A process
 * that owns runs writes beats; one beat covers all its runs. A run whose owner is silent for a
 * lease is taken by compare-and-set, so only one process gets it. Each save is a compare-and-set
 * too, so a process that misjudged its lease can save nothing more.
 *
 * Silence counts only while this process itself receives. After a pause of its own or of its
 * connection, it listens for a whole lease again.
 */
export class RunStore {
  readonly offers: RunOffers;
  readonly #parts: RunStoreParts;
  readonly #bucket: ReturnType<typeof reachableBucket>;
  readonly #records: RunRecords;
  readonly #leaseMs: number;
  readonly #limits: { readonly runs: number; readonly runners: number };
  readonly #known = new Map<string, Known>();
  readonly #ended = new EndedRuns();
  readonly #messages = new Map<string, readonly SaltMap[]>();
  /** Arrival and revision of each process's latest beat. */
  readonly #beats = new Map<string, { readonly atMs: number; readonly revision: number }>();
  readonly #owned = new Map<string, StoredRun>();
  /** Runs that this process is taking or releasing. */
  readonly #busy = new Set<string>();
  /** Runs that could not be taken, and the time of the next try. */
  readonly #notBefore = new Map<string, number>();
  readonly #watch: BucketWatch;
  readonly #pauses: PauseWatch;
  readonly #ports: RunPorts;
  #listeningSince = performance.now();
  #leasedUntil = -Infinity;
  #beatAt = -Infinity;
  #beating: Promise<void> | undefined;
  #leaving = false;
  #taker: RunTaker | undefined;

  constructor(parts: RunStoreParts, options: RunStoreOptions = {}) {
    this.#parts = parts;
    this.offers = new RunOffers(parts.bucket, parts.box);
    this.#bucket = reachableBucket(RUNS, parts.bucket);
    this.#records = new RunRecords(parts.box);
    this.#leaseMs = options.leaseMs ?? LEASE_MS;
    this.#limits = {
      runs: options.maxRuns ?? MAX_RUNS,
      runners: options.maxRunners ?? MAX_RUNNERS,
    };
    this.#ports = {
      isLeased: () => performance.now() < this.#leasedUntil,
      write: (jid, record, revision) => this.#write(jid, record, revision),
      writeInput: (jid, input) => this.offers.writeInput(jid, input),
      remove: (run, last) => this.#remove(run, last),
      released: (run) => {
        if (this.#owned.get(run.jid) === run) this.#owned.delete(run.jid);
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

  /** Starts to take runs without an owner. Call once. */
  serve(taker: RunTaker): void {
    this.#taker = taker;
    this.#look();
  }

  /** Resolves when all records have arrived. @throws BusError `BUS_CLOSED` */
  whenReady(): Promise<void> {
    return this.#watch.whenReady();
  }

  /** Numbers of runs of this process and of the cluster. */
  stats(): { readonly owned: number; readonly known: number } {
    return { owned: this.#owned.size, known: this.#known.size };
  }

  /** True if the cluster has the maximum of runs of this kind. */
  isFull(kind: string): boolean {
    const isRunner = IS_RUNNER.has(kind);
    let count = 0;
    for (const known of this.#known.values()) {
      if (IS_RUNNER.has(known.kind) === isRunner) count += 1;
    }
    return count >= this.#limitOf(kind);
  }

  /** Begins a run that this process owns; see OwnedRuns.begin of @brine/runners. */
  async begin(kind: string, jid: string, { data, call, input }: NewRun): Promise<StoredRun> {
    const outer = this.#owned.get(jid);
    if (this.isFull(kind)) {
      throw new Error(`${this.#limitOf(kind)} runs are under way: try again later`);
    }
    if (outer?.kind === RUNNER && kind !== RUNNER) {
      await this.#leased();
      await outer.replace(kind, input ?? mapOf({}), data);
      return outer;
    }
    const inputKey = input === undefined ? undefined : await this.offers.writeInput(jid, input);
    const owner = this.#parts.processId;
    const record: RunRecord = { kind, owner, call, data, takeovers: 0, inputKey };
    const value = this.#records.write(jid, record);
    this.#busy.add(jid);
    try {
      await this.#leased();
      const revision = await this.#bucket.create(runKey(jid), value);
      if (revision === undefined) throw new Error(`a run with the job id ${jid} is there already`);
      return this.#own({ jid, record, revision, input: input ?? mapOf({}), isNew: true });
    } finally {
      this.#busy.delete(jid);
    }
  }

  /** All current runs, without calls of runners. @throws MasterUnavailableError */
  async list(): Promise<readonly FoundRun[]> {
    await this.#allKnown();
    return [...this.#known]
      .filter(([, { kind }]) => !IS_RUNNER.has(kind))
      .map(([jid, { value }]) => foundRun(this.#records, jid, value))
      .filter((run) => run !== undefined);
  }

  /** The calls that began all current runs, runners included. @throws MasterUnavailableError */
  async calls(): Promise<readonly FoundRun[]> {
    await this.#allKnown();
    return [...this.#known]
      .map(([jid, { value }]) => foundRun(this.#records, jid, value))
      .filter((run) => run !== undefined);
  }

  /** The runs that left a last record, without calls of runners, newest first. */
  async ended(): Promise<readonly FoundRun[]> {
    await this.#allKnown();
    return this.#ended
      .newest(Date.now())
      .map(([jid, value]) => foundRun(this.#records, jid, value))
      .filter((run) => run !== undefined);
  }

  async #allKnown(): Promise<void> {
    const late = sleep(LIST_WAIT_MS, undefined, { ref: false }).then(() => {
      throw new Error('the bucket does not answer');
    });
    await fromHotState(RUNS, Promise.race([this.#watch.whenReady(), late]));
  }

  async #inputOf(jid: string, { inputKey }: RunRecord): Promise<SaltMap> {
    if (inputKey === undefined) return mapOf({});
    const entry = await this.#bucket.get(inputKeyOf(jid, inputKey));
    return this.#records.readInput(jid, entry?.value ?? REMOVED);
  }

  /** Sends a message to the owner of a run; false if the run does not exist. @throws Error */
  async send(jid: string, message: SaltMap): Promise<boolean> {
    const found = await this.offers.find(jid);
    if (found === undefined || found.ended) return false;
    return changeValue(this.#bucket, messagesKey(jid), (entry) => {
      const messages = entry === undefined ? [] : this.#records.readMessages(jid, entry.value);
      if (messages.length >= MAX_MESSAGES) {
        throw new Error(`the run ${jid} has ${MAX_MESSAGES} messages already`);
      }
      return { answer: true, value: this.#records.writeMessages(jid, [...messages, message]) };
    });
  }

  /** The messages that were sent to a current run, in their order. */
  messages(jid: string): readonly SaltMap[] {
    return this.#messages.get(jid) ?? [];
  }

  /** Releases all resumable runs at once, and takes no more. */
  async handOver(): Promise<void> {
    this.#leaving = true;
    const runs = [...this.#owned.values()].filter(({ kind }) => kind !== RUNNER);
    // The runs did not end this process: taking them over does not count against them.
    const uncounted = (takeovers: number): number => Math.max(0, takeovers - 1);
    await Promise.all(runs.map((run) => this.#handOn(run, uncounted)));
  }

  /** Releases all runs, also runners that are cut off, and ends. */
  async close(): Promise<void> {
    this.#leaving = true;
    await Promise.all([...this.#owned.values()].map((run) => this.#handOn(run)));
    this.#pauses.close();
    this.#watch.close();
  }

  /** Releases a run for another process. */
  async #handOn(run: StoredRun, count = (takeovers: number) => takeovers): Promise<void> {
    const { jid } = run;
    this.#busy.add(jid);
    try {
      // Waits for writes in flight: this write replaces their revision.
      await run.rewrite((record) => ({
        ...record,
        owner: '',
        takeovers: count(record.takeovers),
      }));
    } catch (err) {
      if (!run.released.aborted) this.#parts.onTrouble(`run ${jid} could not be handed on`, err);
    } finally {
      run.release();
      this.#busy.delete(jid);
    }
  }

  #limitOf(kind: string): number {
    return IS_RUNNER.has(kind) ? this.#limits.runners : this.#limits.runs;
  }

  #own(parts: ConstructorParameters<typeof StoredRun>[1]): StoredRun {
    const run = new StoredRun(this.#ports, parts);
    this.#owned.set(parts.jid, run);
    run.deliver(this.#messages.get(parts.jid) ?? []);
    return run;
  }

  #write(jid: string, record: RunRecord, revision: number): Promise<number | undefined> {
    return this.#update(jid, this.#records.write(jid, record), revision);
  }

  /** Retries while the lease is valid, so that a short outage of the bucket stops no run. */
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

  async #remove(run: StoredRun, last: SaltMap | undefined): Promise<void> {
    const { jid, revision } = run;
    const { replacesKind, call, kind, inputKey } = run.record;
    if (replacesKind !== undefined && last === undefined) {
      const data = mapOf({});
      await run.rewrite((record) => ({
        ...record,
        kind: replacesKind,
        data,
        replacesKind: undefined,
      }));
      return;
    }
    const ended: RunRecord = { kind, owner: ENDED, call, data: last ?? mapOf({}), takeovers: 0 };
    const value = last === undefined ? REMOVED : this.#records.write(jid, ended);
    this.#busy.add(jid);
    try {
      const removed = await this.#update(jid, value, revision);
      if (removed === undefined) throw this.#parts.releasedError(jid);
      const rest = [
        ...(inputKey === undefined ? [] : [inputKeyOf(jid, inputKey)]),
        ...(this.#messages.has(jid) ? [messagesKey(jid)] : []),
      ];
      // The bucket removes them by their age in any case.
      await Promise.all(rest.map((key) => this.#bucket.put(key, REMOVED).catch(() => 0)));
    } finally {
      run.release();
      this.#busy.delete(jid);
    }
  }

  // Changes from the bucket.

  #changed({ key, value, revision, timeMs }: BucketEntry): void {
    const [what, name = ''] = splitKey(key);
    if (what === 'run') this.#runChanged(name, value, { revision, timeMs });
    if (what === 'beat') this.#beats.set(name, { atMs: performance.now(), revision });
    if (what !== 'words') return;
    if (value.length === 0) this.#messages.delete(name);
    else this.#messages.set(name, this.#records.readMessages(name, value));
    this.#owned.get(name)?.deliver(this.messages(name));
  }

  #runChanged(
    jid: string,
    value: Uint8Array,
    { revision, timeMs }: Pick<BucketEntry, 'revision' | 'timeMs'>,
  ): void {
    const head = headOf(value);
    if (head?.owner !== ENDED) this.#ended.delete(jid);
    else if (!IS_RUNNER.has(head.kind)) this.#ended.set(jid, { value, timeMs });
    const run = this.#owned.get(jid);
    const isOurs = head?.owner === this.#parts.processId;
    // Our own writes come back late; only a newer revision can be another process's.
    if (run !== undefined && !isOurs && revision > run.revision && !this.#busy.has(jid)) {
      run.release();
    }
    if (head === undefined || head.owner === ENDED) {
      this.#known.delete(jid);
      this.#notBefore.delete(jid);
      return;
    }
    const before = this.#known.get(jid);
    const sinceMs = before?.owner === head.owner ? before.sinceMs : performance.now();
    const known = { ...head, value, revision, sinceMs };
    this.#known.set(jid, known);
    // A client may wait for a call that was just handed over.
    if (head.owner === '' && this.#watch.ready) this.#takeIfFree(jid, known, performance.now());
  }

  #reset(): void {
    this.#known.clear();
    this.#ended.clear();
    this.#messages.clear();
    this.#beats.clear();
    this.#listeningSince = performance.now();
  }

  // The clock.

  #look(): void {
    const now = performance.now();
    if (this.#owned.size > 0 && now >= this.#leasedUntil) {
      for (const run of [...this.#owned.values()]) if (run.kind !== RUNNER) run.release();
    }
    const isDue = now - this.#beatAt >= this.#leaseMs / 4;
    if (this.#owned.size > 0 && isDue) this.#beat().catch(() => undefined);
    if (!this.#watch.ready) {
      this.#listeningSince = now;
      return;
    }
    for (const [jid, known] of this.#known) this.#takeIfFree(jid, known, now);
  }

  #takeIfFree(jid: string, known: Known, now: number): void {
    if (!this.#leaving && this.#isFree(jid, known, now)) void this.#take(jid, known);
  }

  #isFree(jid: string, { owner, kind, sinceMs }: Known, now: number): boolean {
    if (this.#owned.has(jid) || this.#busy.has(jid)) return false;
    const { processId } = this.#parts;
    const taker = this.#taker;
    if (taker === undefined || !taker.kinds.has(kind) || !taker.hasRoom(kind)) return false;
    if (now < (this.#notBefore.get(jid) ?? 0)) return false;
    // A run of our own id that we no longer own: released because our beats failed.
    if (owner === '' || owner === processId) return true;
    const beatMs = Math.max(this.#beats.get(owner)?.atMs ?? sinceMs, this.#listeningSince);
    return now - beatMs >= this.#leaseMs;
  }

  async #take(jid: string, { owner, kind, revision, value }: Known): Promise<void> {
    this.#busy.add(jid);
    let run: StoredRun | undefined;
    try {
      const spreadMs = owner === '' ? 0 : Math.random() * SPREAD_MS;
      const delayMs = Math.min(this.#owned.size, DELAY_RUNS_MAX) * DELAY_PER_RUN_MS;
      if (spreadMs + delayMs > 0) await sleep(spreadMs + delayMs);
      if (this.#leaving || (await this.#isAlive(owner))) return;
      const record = this.#records.read(jid, value);
      if (record === undefined) return;
      await this.#leased();
      const isNew = kind === CALL;
      const mine: RunRecord = {
        ...record,
        owner: this.#parts.processId,
        takeovers: record.takeovers + 1,
        ...(isNew ? { kind: RUNNER, takeovers: 0 } : {}),
      };
      const taken = await this.#write(jid, mine, revision);
      if (taken === undefined) return;
      const input = await this.#inputOf(jid, record);
      run = this.#own({ jid, record: mine, revision: taken, input, isNew });
      this.#notBefore.delete(jid);
    } catch (err) {
      this.#notBefore.set(jid, performance.now() + RETAKE_MS);
      this.#parts.onTrouble(`run ${jid} could not be taken over`, err);
    } finally {
      this.#busy.delete(jid);
    }
    if (run !== undefined) await this.#resume(run);
  }

  async #resume(run: StoredRun): Promise<void> {
    try {
      await this.#taker?.takeOver(run);
    } catch (err) {
      if (run.released.aborted) return;
      this.#parts.onTrouble(`run ${run.jid} could not be resumed`, err);
      await this.#handOn(run);
    }
  }

  /** True if the owner has written a beat that has not arrived here yet. */
  async #isAlive(owner: string): Promise<boolean> {
    if (owner === '' || owner === this.#parts.processId) return false;
    const entry = await this.#bucket.get(beatKey(owner));
    const seen = this.#beats.get(owner)?.revision ?? 0;
    if (entry === undefined || entry.revision <= seen) return false;
    this.#beats.set(owner, { atMs: performance.now(), revision: entry.revision });
    return true;
  }

  /** Resolves once this process has a lease. */
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
    const { beatLivesMs, processId } = this.#parts;
    const options = beatLivesMs === undefined ? {} : { livesMs: beatLivesMs };
    await this.#bucket.put(beatKey(processId), randomBytes(4), options);
    // Others count from the arrival of the beat, which is later than its sending.
    this.#leasedUntil = Math.max(this.#leasedUntil, sentAt + (this.#leaseMs * 2) / 3);
  }
}

/** True if a run had too many takeovers without a save and must not be tried again. */
export function isPoison({ takeovers }: Pick<StoredRun, 'takeovers'>): boolean {
  return takeovers > TAKEOVERS_MAX;
}

/** Replaces a removed record: a bucket has no delete. */
const REMOVED = new Uint8Array(0);
