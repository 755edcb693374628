import { isJid, type Jid } from '@brine/job';
import { matchMinion } from '@brine/target';
import { errorText, type Log } from '@brine/tasks';
import { isMap, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { buildPublishedJob, buildReturn, type PublishedJob } from '@brine/wire/load';
import type { FunctionTable } from '../functions/minion-function.ts';
import type { RunningJob } from '../functions/own-state.ts';
import { missingFunction, type Outcome, runFunction } from '../functions/run-function.ts';
import { docsOf } from '../functions/sys-functions.ts';
import { hostFunctions } from '../modules/index.ts';
import type { Clock } from '../ports.ts';
import { RunnerGone, type RunnerPool } from '../runner/pool.ts';
import type { JobTable } from './job-table.ts';

/** A finished job, for the trace. */
export interface FinishedJob {
  readonly jid: Jid;
  readonly fun: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly success: boolean;
  /** W3C `traceparent` of the publication. */
  readonly link?: string;
}

/** The parts of the worker. */
export interface JobWorkerParts {
  readonly id: string;
  readonly jobs: JobTable;
  readonly pool: RunnerPool;
  readonly clock: Clock;
  readonly log: Log;
  /** Functions about the minion itself; they run in this process. */
  readonly own: FunctionTable;
  readonly disabled: readonly string[];
  grains(): SaltMap;
  pillar(): SaltMap;
  deliver(load: SaltMap): Promise<void>;
  finished(job: FinishedJob): void;
}

interface FunctionCall {
  readonly fun: string;
  readonly args: readonly SaltValue[];
}

/** Takes jobs. Runs a job that is new and for this minion, and sends its return. */
export class JobWorker {
  readonly #parts: JobWorkerParts;
  readonly #all: FunctionTable;

  constructor(parts: JobWorkerParts) {
    this.#parts = parts;
    const isOn = ([name]: readonly [string, unknown]): boolean =>
      !parts.disabled.includes(name.slice(0, Math.max(0, name.indexOf('.'))));
    this.#all = new Map([...hostFunctions, ...parts.own].filter(isOn));
  }

  /** Runs a job if it is for this minion. Resolves when its return is delivered; never rejects. */
  async take(job: PublishedJob): Promise<void> {
    const { id, jobs, log } = this.#parts;
    if (!isJid(job.jid)) return;
    const { tgt, tgtType, delimiter } = job;
    const target = { tgt, tgtType, ...(delimiter === undefined ? {} : { delimiter }) };
    const me = { id, grains: this.#parts.grains(), pillar: this.#parts.pillar() };
    if (!matchMinion(target, me) || !jobs.accept(job.jid)) return;
    log.info({ jid: job.jid, fun: job.fun }, 'a job begins');
    try {
      await this.#run(job, job.jid);
    } catch (error) {
      log.error({ err: error, jid: job.jid }, 'a job could not be run');
    } finally {
      jobs.end(job.jid);
    }
  }

  async #run(job: PublishedJob, jid: Jid): Promise<void> {
    const startMs = this.#parts.clock.nowMs();
    const several = Array.isArray(job.fun);
    const outcomes: [string, Outcome][] = [];
    const calls = callsOf(job);
    // A job that waits for a process counts as running too. Functions about the minion itself, such
    // as `saltutil.running`, end at once and are not listed.
    if (!calls.every((call) => this.#parts.own.has(call.fun))) {
      this.#parts.jobs.begin(running(job, process.pid));
    }
    for (const call of calls) {
      const outcome = await this.#outcome(call, job);
      if (outcome === undefined) return; // killed: Salt's minions return nothing then
      outcomes.push([call.fun, outcome]);
    }
    const endMs = this.#parts.clock.nowMs();
    const success = outcomes.every(([, outcome]) => outcome.success);
    const fun = Array.isArray(job.fun) ? job.fun.join(',') : job.fun;
    const link = textOf(job.rest, 'traceparent');
    this.#parts.finished({
      jid,
      fun,
      startMs,
      endMs,
      success,
      ...(link === undefined ? {} : { link }),
    });
    const first = outcomes[0]?.[1];
    if (first !== undefined) {
      await this.#parts.deliver(this.#load(job, several ? merged(outcomes) : first));
    }
  }

  async #outcome(call: FunctionCall, job: PublishedJob): Promise<Outcome | undefined> {
    const { fun, args } = call;
    const found = this.#all.get(fun);
    if (found === undefined) return missingFunction(fun, docsOf(this.#all, [`${fun}*`]));
    const published = publishedOf(job);
    if (!this.#parts.own.has(fun)) return this.#inRunner(call, job, published);
    return runFunction(fun, found, args, published);
  }

  async #inRunner(
    call: FunctionCall,
    job: PublishedJob,
    published: SaltMap,
  ): Promise<Outcome | undefined> {
    try {
      const work = await this.#parts.pool.start({ ...call, published });
      this.#parts.jobs.begin(running(job, work.pid), (name) => work.signal(name));
      return await work.done;
    } catch (error) {
      if (error instanceof RunnerGone && error.signal !== null) return undefined;
      const text = errorText(error);
      const value = `The minion function caused an exception: ${text}`;
      return { return: value, retcode: 1, success: false, out: 'nested' };
    }
  }

  #load(job: PublishedJob, outcome: Merged): SaltMap {
    const masterId = textOf(job.rest, 'master_id');
    const rest: SaltMap = new Map();
    const metadata = job.rest.get('metadata');
    if (metadata !== undefined && isMap(metadata)) rest.set('metadata', metadata);
    return buildReturn({
      id: this.#parts.id,
      jid: job.jid,
      fun: job.fun,
      funArgs: job.arg,
      return: outcome.return,
      retcode: outcome.retcode,
      success: outcome.success,
      rest,
      ...(outcome.out === undefined ? {} : { out: outcome.out }),
      ...(job.user === undefined ? {} : { user: job.user }),
      ...(masterId === undefined ? {} : { masterId }),
    });
  }
}

interface Merged {
  readonly return: SaltValue;
  readonly retcode: SaltValue;
  readonly success: SaltValue;
  readonly out?: string;
}

/** A job of several functions: maps by function (Salt: salt/minion.py _thread_multi_return). */
function merged(outcomes: readonly [string, Outcome][]): Merged {
  const by = (pick: (outcome: Outcome) => SaltValue): SaltMap =>
    new Map(outcomes.map(([fun, outcome]) => [fun, pick(outcome)]));
  return {
    return: by((o) => o.return),
    retcode: by((o) => o.retcode),
    success: by((o) => o.success),
  };
}

function callsOf(job: PublishedJob): FunctionCall[] {
  if (!Array.isArray(job.fun)) return [{ fun: job.fun, args: job.arg }];
  return job.fun.map((fun, i) => {
    const args = job.arg[i];
    return { fun, args: Array.isArray(args) ? args : [] };
  });
}

/** The publication as functions see it: without the fields of the channel. */
function publishedOf(job: PublishedJob): SaltMap {
  const map = buildPublishedJob(job);
  map.delete('serial');
  return map;
}

function running(job: PublishedJob, pid: number): RunningJob {
  const { jid, fun, arg, tgt, tgtType, ret, user } = job;
  return { jid, pid, fun, arg, tgt, tgtType, ret, user: user ?? '' };
}
