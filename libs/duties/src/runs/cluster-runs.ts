import { setTimeout as sleep } from 'node:timers/promises';
import { Bucket, type Bus } from '@brine/bus';
import {
  CALL,
  type ClusterTask,
  ClusterTasks,
  endedBatchOf,
  type FoundRun,
  isPoison,
  keepCall,
  keptCallOf,
  reportOutcome,
  RunStore,
  type RunStoreOptions,
  type StoredRun,
  underWayOf,
} from '@brine/cluster-work';
import { SecretBox } from '@brine/crypt';
import {
  type FunctionCall,
  type FunctionOutcome,
  type LocalFunctions,
  MasterUnavailableError,
} from '@brine/master';
import {
  fireOutcome,
  runBetweenEvents,
  RUNNERS_MAX,
  type RunUnderWay,
} from '@brine/master/functions';
import {
  adoptStockBatch,
  OWNED_WORK,
  type OwnedKind,
  type OwnedRunRecord,
  type OwnedRuns,
  type OwnedWork,
  type RunnerContext,
  RunReleasedError,
  workBatch,
} from '@brine/runners';
import { errorText, InFlight, type Trouble } from '@brine/tasks';
import type { SaltMap } from '@brine/wire';
import { batchPorts, type BatchPortsParts } from './batch-ports.ts';

export interface ClusterRunsParts {
  readonly bus: Bus;
  /** The master's private key, which seals the records. */
  readonly pem: string;
  readonly processId: string;
  readonly onTrouble: Trouble;
  /** For tests: the lease and the limit of runs. */
  readonly limits?: RunStoreOptions;
}

export interface RunWorkParts extends BatchPortsParts {
  /** Runs functions in this process. */
  readonly local: LocalFunctions;
  /** Makes the context of another process's call; close it afterwards. */
  readonly contextOf: (call: FunctionCall) => {
    readonly context: RunnerContext;
    readonly close: () => Promise<void>;
  };
  /** Permanent tasks of the cluster, each in one process at a time. */
  readonly tasks: readonly ClusterTask[];
}

const BATCH = 'batch';
/** Time that an ordered stop waits for calls that only this process can end. */
const LEAVE_MS = 120_000;

/** The runs of this process, in the bucket `brine_runs`. */
export class ClusterRuns {
  readonly #parts: ClusterRunsParts;
  readonly #store: RunStore;
  /** Calls whose run another process took over; it reports their outcomes. */
  readonly #elsewhere = new Set<string>();
  readonly #calls = new InFlight(RUNNERS_MAX);
  readonly #resumed = new InFlight(Infinity);
  #tasks: ClusterTasks | undefined;

  constructor(parts: ClusterRunsParts) {
    this.#parts = parts;
    const { bus, pem, processId, onTrouble } = parts;
    const store = {
      bucket: new Bucket(bus, 'brine_runs'),
      box: SecretBox.fromMasterKey(pem, 'runs'),
      processId,
      releasedError: (jid: string) => new RunReleasedError(`another process owns the run ${jid}`),
      onTrouble,
    };
    this.#store = new RunStore(store, parts.limits);
  }

  /** Starts to work on runs without an owner. Call once. */
  serve(parts: RunWorkParts): void {
    const { tasks } = parts;
    const work = new RunWork(parts, this.#parts.bus);
    this.#store.serve({
      kinds: new Set<string>([...OWNED_WORK.keys(), CALL, BATCH, ...tasks.map(({ kind }) => kind)]),
      hasRoom: (kind) => kind !== CALL || !this.#calls.isFull,
      takeOver: (run) => {
        const done = run.isNew ? this.#call(run, work) : work.resume(run);
        (run.isNew ? this.#calls : this.#resumed).add(done.catch(() => undefined));
        return done;
      },
    });
    this.#tasks = new ClusterTasks(tasks, this.#store.offers, this.#parts.onTrouble);
  }

  stats(): object {
    return this.#store.stats();
  }

  /** True if no further call of a runner may begin, here or in the whole cluster. */
  get isFull(): boolean {
    return this.#calls.isFull || this.#store.isFull(CALL);
  }

  /** Long work for the functions of one call. */
  of(call: FunctionCall): OwnedRuns {
    const store = this.#store;
    return {
      begin: (kind, jid, data, input) =>
        store.begin(kind, jid, { data, input, call: keepCall(call).call }),
      list: async () => (await store.list()).map(recordOf),
      calls: async () =>
        (await store.calls()).flatMap(({ jid, owner, call: kept }) => {
          const underWay = keptCallOf(kept, jid);
          return underWay === undefined ? [] : [{ ...underWay, owner }];
        }),
      find: async (jid) => {
        const found = await store.offers.find(jid);
        return found && recordOf(found);
      },
      send: (jid, message) => store.send(jid, message),
      messages: (jid) => store.messages(jid),
    };
  }

  /** The runs and batches of the cluster that have not ended. */
  async underWay(): Promise<readonly RunUnderWay[]> {
    return (await this.#store.calls()).flatMap((run) => underWayOf(run) ?? []);
  }

  /** The batches that have ended and are still known, newest first. */
  async endedBatches(): Promise<readonly RunUnderWay[]> {
    return (await this.#store.ended()).flatMap((run) => endedBatchOf(run) ?? []);
  }

  /** True if another process owns the run of a call now. */
  isElsewhere(jid: string): boolean {
    return this.#elsewhere.has(jid);
  }

  /** The last saved data of a run; undefined: none. */
  async dataOf(name: string): Promise<SaltMap | undefined> {
    return (await this.#store.offers.find(name))?.data;
  }

  /**
   * For an ordered stop: takes nothing more, and releases resumable runs. Other calls have two
   * minutes to end.
   */
  async leave(): Promise<void> {
    await this.#store.handOver();
    await Promise.race([this.#calls.settled(), sleep(LEAVE_MS, undefined, { ref: false })]);
  }

  async close(): Promise<void> {
    this.#tasks?.close();
    await this.#store.close();
    await Promise.all([this.#calls.settled(), this.#resumed.settled()]);
  }

  /** Runs a call that was handed over. */
  async #call(run: StoredRun, work: RunWork): Promise<void> {
    const { jid } = run;
    const onReleased = (): void => void this.#elsewhere.add(jid);
    run.released.addEventListener('abort', onReleased);
    try {
      await work.begin(run);
    } finally {
      run.released.removeEventListener('abort', onReleased);
      this.#elsewhere.delete(jid);
    }
    if (!run.released.aborted) await run.end();
  }
}

/** The work of each kind of run. */
class RunWork {
  readonly #parts: RunWorkParts;
  readonly #bus: Bus;

  constructor(parts: RunWorkParts, bus: Bus) {
    this.#parts = parts;
    this.#bus = bus;
  }

  /** Runs a function that was handed over, between its events. */
  async begin(run: StoredRun): Promise<void> {
    const { ports, local } = this.#parts;
    const outcome = await runBetweenEvents(ports, local, callOf(run));
    if (outcome.moved !== true) await this.#reply(run, outcome);
  }

  /** Works on a run of which another process may have done a part. */
  async resume(run: StoredRun): Promise<void> {
    const { jid, kind } = run;
    const task = this.#parts.tasks.find((one) => one.kind === kind && one.name === jid);
    if (task !== undefined) return task.work(run);
    this.#parts.ports.count('run_taken_over');
    if (kind === BATCH) return this.#batch(run);
    const call = callOf(run);
    const work = OWNED_WORK.get(kind as OwnedKind);
    if (work === undefined) throw new Error(`no work of kind ${kind}`);
    const outcome = isPoison(run) ? TOO_OFTEN : await this.#work(work, run, call);
    if (outcome !== undefined) await this.#report(run, call, outcome);
    if (!run.released.aborted) await run.end();
  }

  async #report(run: StoredRun, call: FunctionCall, outcome: FunctionOutcome): Promise<void> {
    await fireOutcome(this.#parts.ports, call, outcome);
    await this.#reply(run, outcome);
  }

  /** The process that waits for the outcome may have died; the event reports it in any case. */
  async #reply(run: StoredRun, outcome: FunctionOutcome): Promise<void> {
    try {
      await reportOutcome(this.#bus, run.call, run.jid, outcome);
    } catch (err) {
      this.#parts.onTrouble(`the outcome of ${run.jid} reached no process that waits`, err);
    }
  }

  async #work(
    work: OwnedWork,
    run: StoredRun,
    call: FunctionCall,
  ): Promise<FunctionOutcome | undefined> {
    const { context, close } = this.#parts.contextOf(call);
    try {
      return await work(run, context);
    } catch (err) {
      // The next owner continues, and only it reports.
      if (run.released.aborted || err instanceof MasterUnavailableError) throw err;
      const text = errorText(err);
      const value = `Exception occurred in runner ${call.fun}: ${text}`;
      return { value, success: false, retcode: 1 };
    } finally {
      await close();
    }
  }

  async #batch(run: StoredRun): Promise<void> {
    let ports: ReturnType<typeof batchPorts> | undefined;
    try {
      if (isPoison(run)) throw new Error(TOO_OFTEN.value);
      await adoptStockBatch(run, Date.now());
      ports = batchPorts(run, this.#parts);
      await workBatch(run, ports);
    } catch (err) {
      // The next owner continues.
      if (run.released.aborted) return;
      this.#parts.onTrouble(`batch ${run.jid} is given up`, err);
      const reason = errorText(err);
      await run.end(new Map([...run.data, ['halted', true], ['halted_reason', reason]]));
    } finally {
      await ports?.close();
    }
  }
}

/** Ends a run that crashes its processes, before it has crashed all of them. */
const TOO_OFTEN = {
  value: 'The processes that ran it died or gave it up one after the other. It is not tried again.',
  success: false,
  retcode: 1,
} as const;

function callOf({ call: kept, jid, input, kind }: StoredRun): FunctionCall {
  const call = keptCallOf(kept, jid, input);
  if (call === undefined) throw new Error(`the run ${jid} of kind ${kind} has no call`);
  return call;
}

function recordOf({ jid, kind, owner, ended, data }: FoundRun): OwnedRunRecord {
  return { jid, kind: kind as OwnedKind, owner, ended, data };
}
