import { Bucket, type Bus } from '@brine/bus';
import {
  ClusterTasks,
  type ClusterTask,
  type FoundRun,
  type StoredRun,
  isPoison,
  offerRun,
  type OwnedRunOptions,
  OwnedRunStore,
} from '@brine/cluster-work';
import { SecretBox } from '@brine/crypt';
import {
  type BatchOrder,
  type FunctionCall,
  type FunctionOutcome,
  MasterUnavailableError,
} from '@brine/master';
import { tellOutcome } from '@brine/master/functions';
import {
  adoptStockBatch,
  batchSettings,
  OWNED_WORK,
  type OwnedKind,
  type OwnedRunRecord,
  type OwnedRuns,
  type OwnedWork,
  RunReleasedError,
  type RunnerContext,
  workBatch,
} from '@brine/runners';
import { errorText } from '@brine/tasks';
import { boolOf, listOf, mapIn, mapOf, pack, type SaltMap, textOf } from '@brine/wire';
import { batchPorts, type BatchPortsParts } from './batch-ports.ts';

/** What the runs of a worker are made of. */
export interface ClusterRunsParts extends BatchPortsParts {
  readonly bus: Bus;
  /** The master's private key, which the records are sealed with. */
  readonly pem: string;
  readonly workerId: string;
  /** What a call of another worker goes on with; close it afterwards. */
  readonly contextOf: (call: FunctionCall) => {
    readonly context: RunnerContext;
    readonly close: () => Promise<void>;
  };
  /** What the cluster does as long as it lives, in one worker at a time. */
  readonly tasks?: readonly ClusterTask[];
  /** For tests: how long a lease lasts, and how many runs there may be. */
  readonly limits?: OwnedRunOptions;
}

/** A call whose arguments are larger than this is kept without them. */
const CALL_MAX_BYTES = 64 * 1024;
const BATCH = 'batch';
const RUNNER = 'runner';

/** The long work of this worker, in the bucket `brine_runs`. */
export class ClusterRuns {
  readonly #parts: ClusterRunsParts;
  readonly #store: OwnedRunStore;
  readonly #working = new Set<Promise<void>>();
  readonly #endless: ClusterTasks;
  /** Calls whose run another worker has now; it tells what comes of them. */
  readonly #elsewhere = new Set<string>();

  constructor(parts: ClusterRunsParts) {
    this.#parts = parts;
    const endless = parts.tasks ?? [];
    const store = {
      bucket: new Bucket(parts.bus, 'brine_runs'),
      box: SecretBox.fromMasterKey(parts.pem, 'runs'),
      workerId: parts.workerId,
      kinds: new Set<string>([...OWNED_WORK.keys(), BATCH, ...endless.map(({ kind }) => kind)]),
      takeOver: (run: StoredRun) => this.#tracked(this.#goOn(run)),
      lostError: (jid: string) => new RunReleasedError(`the run ${jid} is another worker's`),
      onTrouble: parts.onTrouble,
    };
    this.#store = new OwnedRunStore(store, parts.limits);
    this.#endless = new ClusterTasks(endless, {
      isThere: async (name) => (await this.#store.find(name)) !== undefined,
      offer: (kind, name) => offerRun(store, kind, name, { data: mapOf({}), by: mapOf({}) }),
      onTrouble: parts.onTrouble,
    });
  }

  stats(): object {
    return this.#store.stats();
  }

  /** Long work for the functions of one call. */
  of(call: FunctionCall): OwnedRuns {
    const store = this.#store;
    return {
      begin: (kind, jid, data, fixed) => store.begin(kind, jid, { data, fixed, by: callMap(call) }),
      list: async () => (await store.list()).map(recordOf),
      calls: async () =>
        (await store.calls()).flatMap(({ jid, owner, by }) => {
          const underWay = callOf(by, jid);
          return underWay === undefined ? [] : [{ ...underWay, owner }];
        }),
      find: async (jid) => {
        const found = await store.find(jid);
        return found && recordOf(found);
      },
      send: (jid, word) => store.send(jid, word),
      messages: (jid) => store.messages(jid),
    };
  }

  /**
   * Does the work of a call as a run of kind `runner`: when this worker dies, another one tells
   * that the call has failed. Where that can not be kept the work is done all the same.
   */
  async during(call: FunctionCall, work: () => Promise<void>): Promise<void> {
    const by = callMap(call);
    const begun = this.#store.begin(RUNNER, call.jid, { data: mapOf({}), by });
    const run = await begun.catch((err: unknown) => {
      this.#parts.ports().count('runner_not_owned');
      this.#parts.onTrouble(`if this worker dies, runner ${call.jid} is not missed`, err);
      return undefined;
    });
    const onLost = (): void => void this.#elsewhere.add(call.jid);
    run?.released.addEventListener('abort', onLost);
    try {
      await work();
    } finally {
      run?.released.removeEventListener('abort', onLost);
      this.#elsewhere.delete(call.jid);
      if (run?.released.aborted === false) await run.end();
    }
  }

  /** Whether another worker has the run of a call now. */
  isElsewhere(jid: string): boolean {
    return this.#elsewhere.has(jid);
  }

  /** Begins a batch; resolves when it is kept. */
  async beginBatch(order: BatchOrder): Promise<void> {
    const { jid, caller, principal, command, load, settings, host } = order;
    // What is no size is refused before anything is kept.
    batchSettings(settings);
    const run = await this.#store.begin(BATCH, jid, {
      data: mapOf({}),
      by: mapOf({ caller, principal, command, host }),
      fixed: mapOf({ load, settings }),
    });
    this.#parts.ports().count('batch_begun');
    // What went wrong was told; what is lost goes on elsewhere.
    this.#tracked(this.#batch(run)).catch(() => undefined);
  }

  /** How a batch stands, who began it, and by which command. */
  async batch(jid: string) {
    const found = await this.#store.find(jid);
    if (found?.kind !== BATCH) return undefined;
    const state: SaltMap = new Map(found.data);
    state.set('ended', found.ended);
    const of = (name: string): string => textOf(found.call, name) ?? '';
    return { principal: of('principal'), command: of('command'), state };
  }

  /** What was saved last of a run; undefined for none. */
  async dataOf(name: string): Promise<SaltMap | undefined> {
    return (await this.#store.find(name))?.data;
  }

  /** Hands on what others can go on with; for an ordered stop. */
  handOver(): Promise<void> {
    return this.#store.handOver();
  }

  async close(): Promise<void> {
    this.#endless.close();
    await this.#store.close();
    await Promise.all(this.#working);
  }

  async #tracked(work: Promise<void>): Promise<void> {
    const quiet = work.catch(() => undefined).finally(() => this.#working.delete(quiet));
    this.#working.add(quiet);
    return work;
  }

  /** Goes on with a run that another worker had. */
  async #goOn(run: StoredRun): Promise<void> {
    const { jid, kind } = run;
    const endless = this.#parts.tasks?.find((one) => one.kind === kind && one.name === jid);
    if (endless !== undefined) return endless.work(run);
    this.#parts.ports().count('run_taken_over');
    if (kind === BATCH) return this.#batch(run);
    const call = callOf(run.call, jid);
    const work = OWNED_WORK.get(kind as OwnedKind);
    if (call === undefined || work === undefined) throw new Error(`no work of kind ${kind}`);
    const outcome = isPoison(run) ? TOO_OFTEN : await this.#work(work, run, call);
    if (outcome !== undefined) await tellOutcome(this.#parts.ports(), call, outcome);
    if (!run.released.aborted) await run.end();
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
      // The next owner goes on, and it alone tells.
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
      // The next owner goes on.
      if (run.released.aborted) return;
      this.#parts.onTrouble(`batch ${run.jid} is given up`, err);
      const reason = errorText(err);
      await run.end(new Map([...run.data, ['halted', true], ['halted_reason', reason]]));
    } finally {
      await ports?.close();
    }
  }
}

/** For a run that takes its workers with it: it must not take all of them. */
const TOO_OFTEN = {
  value: 'Its workers died or gave it up one after the other. It is not tried again.',
  success: false,
  retcode: 1,
} as const;

function recordOf({ jid, kind, owner, ended, data }: FoundRun): OwnedRunRecord {
  return { jid, kind: kind as OwnedKind, owner, ended, data };
}

/** A call as it is kept with its run. */
function callMap(call: FunctionCall): SaltMap {
  const { kind, fun, jid, user, principal, caller, via, depth, timeoutSeconds, args, kwargs } =
    call;
  const whole = mapOf({ args: [...args], kwargs });
  const kept = pack(whole).length <= CALL_MAX_BYTES ? whole : mapOf({});
  const who = mapOf({ kind, fun, jid, user, principal, caller, via, depth, timeoutSeconds });
  return new Map([...who, ...kept]);
}

function callOf(by: SaltMap, jid: string): FunctionCall | undefined {
  const fun = textOf(by, 'fun');
  if (fun === undefined) return undefined;
  const seconds = by.get('timeoutSeconds');
  // A run of an earlier release says only that its caller is limited: it may do nothing more.
  const caller = mapIn(by, 'caller') ?? (boolOf(by, 'limited') === true ? mapOf({}) : undefined);
  const via = textOf(by, 'via');
  const depth = by.get('depth');
  return {
    kind: textOf(by, 'kind') === 'wheel' ? 'wheel' : 'runner',
    fun,
    jid: textOf(by, 'jid') ?? jid,
    user: textOf(by, 'user') ?? '',
    principal: textOf(by, 'principal') ?? '',
    ...(caller === undefined ? {} : { caller }),
    ...(via === undefined ? {} : { via }),
    ...(typeof depth === 'number' ? { depth } : {}),
    ...(typeof seconds === 'number' ? { timeoutSeconds: seconds } : {}),
    args: listOf(by, 'args') ?? [],
    kwargs: mapIn(by, 'kwargs') ?? mapOf({}),
  };
}
