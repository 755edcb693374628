import { setTimeout as sleep } from 'node:timers/promises';
import { type QueuedWork, runOnce, untilStored, type WorkEnd } from '@brine/cluster-work';
import { type Jid, traceparentOf } from '@brine/job';
import type { FunctionCall, FunctionOutcome, LocalFunctions, MasterPorts } from '@brine/master';
import { recordInner } from '@brine/master/functions';
import type { OwnedRuns } from '@brine/runners';
import type { Schedule, ScheduledJob } from '@brine/schedule';
import type { Trouble } from '@brine/tasks';
import { nowMs, type Telemetry } from '@brine/telemetry';
import { mapOf, pack, type SaltMap, textOf } from '@brine/wire';
import { hasSecretArguments } from '@brine/wire/load';
import { type DueRecords, SILENT_MS } from './due-records.ts';
import { pythonText } from './python-times.ts';

/** A scheduled job names its function without the kind. */
const MASTER_KINDS = ['runner', 'wheel'] as const;

export interface DueWorkParts {
  /** Jobs that this master can run. */
  readonly schedule: Schedule;
  readonly records: DueRecords;
  readonly processId: string;
  /** The ports of requests. */
  readonly ports: MasterPorts;
  /** The functions of this process. */
  readonly local: LocalFunctions;
  /** Long work for the functions of a call. */
  readonly runsOf: (call: FunctionCall) => OwnedRuns;
  /** The kind of a function; undefined if the master does not have it. */
  readonly kindOf: (fun: string) => Promise<FunctionCall['kind'] | undefined>;
  /** Passes a result to a returner of the site's Salt; undefined without `brine.python`. */
  readonly handToReturner: ((returner: string, load: SaltMap) => Promise<void>) | undefined;
  readonly spans: Pick<Telemetry, 'recordSpan'>;
  readonly count: (outcome: DueOutcome) => void;
  readonly onTrouble: Trouble;
  /** True if this process takes no new work. */
  readonly isLeaving: () => boolean;
}

/** The outcome of a queued job, for the metrics. */
export type DueOutcome = 'run' | 'failed' | 'known' | 'maxrunning' | 'unknown';

/** Interval of a run's beats: two of three may be lost. */
const ALIVE_MS = SILENT_MS / 3;
/**
 * Time that a job without an entry on this host waits for a host that has it: hosts get a new
 * schedule one after the other.
 */
const YOUNG_MS = 10 * 60_000;
/** Poll interval for a run of another process. */
const LOOK_MS = 5_000;
/** Salt: schedule.handle_func, for a function that raised. */
const RAISED = 254;

/**
 * Runs due jobs of the schedule out of the queue that all processes share. A due time runs once. If
 * its process dies, it runs again under the same job id.
 */
export class DueWork {
  readonly #parts: DueWorkParts;
  readonly #jobs: ReadonlyMap<string, ScheduledJob>;
  readonly #here = new Set<string>();

  constructor(parts: DueWorkParts) {
    this.#parts = parts;
    this.#jobs = new Map(parts.schedule.jobs.map((job) => [job.name, job]));
  }

  /**
   * Works on a due job. @throws if a bucket or a stream is unreachable: it is delivered again then
   */
  async work({ name, timeMs, data }: QueuedWork): Promise<WorkEnd> {
    const { count, onTrouble } = this.#parts;
    const job = this.#jobs.get(name);
    if (job === undefined) {
      if (Date.now() - timeMs < YOUNG_MS) return 'later';
      count('unknown');
      onTrouble(`${name} is due, and the schedule here has no such job`);
      return 'over';
    }
    const key = `${name} ${timeMs}`;
    if (this.#here.has(key)) return 'elsewhere';
    this.#here.add(key);
    try {
      return await this.#claim(job, textOf(data, 'fun') ?? job.fun, timeMs);
    } finally {
      this.#here.delete(key);
    }
  }

  async #claim(job: ScheduledJob, fun: string, dueMs: number): Promise<WorkEnd> {
    const { records, processId, ports, count, isLeaving } = this.#parts;
    const { maxRunning, name } = job;
    for (;;) {
      const claim = await records.claim(name, dueMs, {
        processId,
        maxRunning,
        nowMs: Date.now(),
        newJid: () => ports.nextJid(),
      });
      if (claim.kind === 'known') {
        count('known');
        return 'over';
      }
      if (claim.kind === 'full') {
        count('maxrunning');
        return 'over';
      }
      if (claim.kind === 'mine') {
        await this.#run({ job, fun, dueMs, jid: claim.jid }, claim.again);
        return 'over';
      }
      // A repeated message while another process works on it, which may still die.
      if (isLeaving()) return 'again';
      await sleep(LOOK_MS);
    }
  }

  async #run(due: DueRun, again: boolean): Promise<void> {
    const { records, processId, count, onTrouble } = this.#parts;
    const { job, dueMs } = due;
    const timer = setInterval(() => {
      // A failure is no problem: there are three beats in {@link SILENT_MS}.
      records.alive(job.name, dueMs, processId, Date.now()).catch(() => undefined);
    }, ALIVE_MS);
    try {
      const outcome = await this.#outcomeOf(due, again);
      const how = { success: outcome?.success ?? true, retcode: outcome?.retcode ?? 0 };
      const endedMs = Date.now();
      await untilStored(
        `the record of ${job.name}`,
        () => records.ended(job.name, dueMs, { endedMs, ...how }),
        onTrouble,
      );
      count(how.success ? 'run' : 'failed');
    } finally {
      clearInterval(timer);
    }
  }

  /** Runs the function; undefined if another process has finished it. */
  async #outcomeOf(due: DueRun, again: boolean): Promise<FunctionOutcome | undefined> {
    const { kindOf, ports, local, runsOf, onTrouble, spans } = this.#parts;
    const { job, fun, jid, dueMs } = due;
    if (job.dryRun) return { value: null, success: true };
    const kind = await kindOf(fun);
    if (kind === undefined) {
      onTrouble(`${job.name} does not run: '${fun}' is no runner or wheel of this master`);
      return { value: `'${fun}' is not available.`, success: false, retcode: RAISED };
    }
    const { args, kwargs } = job;
    const { user } = ports.rules;
    const traceparent = traceparentOf(jid as Jid, 'request');
    const via = `schedule ${job.name}`;
    const call: FunctionCall = {
      kind,
      fun,
      jid,
      user,
      principal: user,
      via,
      traceparent,
      args,
      kwargs,
    };
    recordInner(ports, call, { kind: 'user', principal: user, via }, 'done');
    const startMs = nowMs();
    const outcome = await runOnce(call, again, {
      ports: this.#keepingPorts(job),
      runsOf,
      onTrouble,
      run: (one) => local.run(one),
    });
    if (outcome === undefined) return undefined;
    spans.recordSpan({
      name: 'schedule',
      jid,
      part: 'request',
      startMs,
      endMs: nowMs(),
      ...(outcome.success ? {} : { error: 'failed' }),
      attributes: { 'salt.fun': `${kind}.${fun}`, 'salt.schedule': job.name, 'brine.due': dueMs },
    });
    if (outcome.moved !== true) await this.#fire(due, outcome);
    return outcome;
  }

  /** Without a place in the job cache for a job with `return_job: False` or `nocache`. */
  #keepingPorts({ returnJob }: ScheduledJob): MasterPorts {
    const ports = this.#parts.ports;
    if (returnJob === 'keep') return ports;
    return { ...ports, rules: { ...ports.rules, runnerReturns: false } };
  }

  /** The event `__schedule_return` and the returners (Salt: schedule.handle_func). */
  async #fire(due: DueRun, outcome: FunctionOutcome): Promise<void> {
    const { job, dueMs } = due;
    const { ports, handToReturner, onTrouble } = this.#parts;
    const ret = this.#returnOf(due, outcome);
    for (const returner of job.returners) {
      try {
        await handToReturner?.(returner, ret);
      } catch (err) {
        onTrouble(`returner ${returner} did not take the result of ${job.name}`, err);
      }
    }
    if (job.returnJob === 'no') return;
    const jid =
      job.returners.length > 0 ? due.jid : job.returnJob === 'nocache' ? 'nocache' : 'req';
    const load = new Map([...mapOf({ cmd: '_return' }), ...ret, ...mapOf({ jid })]);
    const event = {
      ...({ kind: 'local', tag: '__schedule_return' } as const),
      msgId: `schedule_return:${job.name}:${dueMs}`,
    };
    await untilStored(
      `__schedule_return of ${job.name}`,
      async () => ports.events.append({ ...event, body: pack(load) }),
      onTrouble,
    );
  }

  #returnOf({ job, fun, jid }: DueRun, outcome: FunctionOutcome): SaltMap {
    const { args, kwargs, metadata, returnConfig, returnKwargs, name } = job;
    const { value, success, retcode = 0 } = outcome;
    const isSecret = MASTER_KINDS.some((kind) => hasSecretArguments(`${kind}.${fun}`));
    return mapOf({
      id: this.#parts.ports.rules.masterMinionId,
      fun,
      schedule: name,
      jid,
      fun_args: isSecret ? [] : [...args, ...(kwargs.size > 0 ? [kwargs] : [])],
      metadata: metadata && new Map([...metadata, ...pythonText(new Date())]),
      pid: process.pid,
      return: value,
      retcode: success ? retcode : RAISED,
      success,
      ret_config: returnConfig,
      ret_kwargs: returnKwargs,
    });
  }
}

interface DueRun {
  readonly job: ScheduledJob;
  readonly fun: string;
  readonly dueMs: number;
  readonly jid: string;
}
