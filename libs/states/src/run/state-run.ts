import { mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { isTruthy, masked, pyRepr, pyStr, strip } from '@brine/wire/text';
import type { DependencyGraph } from '../compile/dependency-graph.ts';
import type { Requisite } from '../compile/requisites.ts';
import type { DoneStep, RunOptions, RunPorts } from '../ports.ts';
import { type Chunk, tagOf, textAt } from '../values.ts';
import { callFunction, fullName, verifyData } from './call-state.ts';
import { Parallels } from './parallels.ts';
import { durationOf, logText, msOf, timeOfDay, unified, withNames } from './results.ts';
import { readRetry, retryText } from './retry.ts';
import { type Status, statusOf } from './status.ts';

/** Results by tag, in the order in which they came. */
export type Running = Map<string, SaltMap>;

/** A run is deeper than this only if requisites form a cycle. */
const DEPTH_MAX = 20;

/** How often a state that waits for a parallel one is polled, ms. */
const PENDING_LOOK_MS = 10;

/** Runs the states of one compiled run (Salt: State.call_chunks and below). */
export class StateRun {
  readonly #ports: RunPorts;
  readonly #options: RunOptions;
  readonly #graph: DependencyGraph;
  readonly #parallels: Parallels;
  readonly #tested: Running = new Map();
  readonly #calls = new Map<string, number>();
  #runNumber = 0;
  #length = 0;

  constructor(ports: RunPorts, options: RunOptions, graph: DependencyGraph) {
    this.#ports = ports;
    this.#options = options;
    this.#graph = graph;
    this.#parallels = new Parallels(options.maxParallel);
  }

  /** The number for a result without a state. */
  nextNumber(): number {
    const number = this.#runNumber;
    this.#runNumber += 1;
    return number;
  }

  /**
   * Runs states in their order.
   * @throws StateArgumentError RunCutOffError
   */
  async chunks(chunks: readonly Chunk[]): Promise<Running> {
    this.#length = chunks.length;
    const running: Running = new Map();
    let pending: Chunk[] = [];
    for (const chunk of chunks) {
      const left = await this.#pending(pending, running);
      if (left === 'failhard') return running;
      pending = left;
      this.#parallels.startWaiting(running);
      if (running.has(tagOf(chunk))) continue;
      if ((await this.#ports.gate(textAt(chunk, '__id__'))) === 'kill') break;
      const outcome = await this.#chunk(chunk, running, 0);
      if (outcome === 'pending') pending.push(chunk);
      if (outcome === 'failhard' || this.#failsHard(chunk, running)) return running;
    }
    while (pending.length > 0) {
      const left = await this.#pending(pending, running);
      if (left === 'failhard') return running;
      pending = left;
      await this.#ports.sleep(PENDING_LOOK_MS);
    }
    await this.#parallels.all(running);
    return running;
  }

  /** Runs a state without any other, for `state.single`. */
  async single(chunk: Chunk): Promise<SaltMap> {
    const ret = await this.#call(chunk, new Map());
    const running = new Map([[tagOf(chunk), ret]]);
    await this.#parallels.all(running);
    return ret;
  }

  async #pending(pending: readonly Chunk[], running: Running): Promise<Chunk[] | 'failhard'> {
    const left: Chunk[] = [];
    for (const chunk of pending) {
      if (running.has(tagOf(chunk))) continue;
      const outcome = await this.#chunk(chunk, running, 0);
      if (outcome === 'pending') left.push(chunk);
      if (outcome === 'failhard' || this.#failsHard(chunk, running)) return 'failhard';
    }
    return left;
  }

  #failsHard(chunk: Chunk, running: Running): boolean {
    if (this.#options.test) return false;
    const failhard = chunk.has('failhard') ? chunk.get('failhard') : this.#options.failhard;
    const ret = running.get(tagOf(chunk));
    if (!isTruthy(failhard) || ret === undefined) return false;
    const result = ret.get('result') ?? null;
    return result !== null && !isTruthy(result);
  }

  /** Salt: State.call_chunk. */
  async #chunk(
    chunk: Chunk,
    running: Running,
    depth: number,
  ): Promise<'done' | 'pending' | 'failhard'> {
    const tag = tagOf(chunk);
    const status = await this.#status(chunk, running);
    if (status.kind === 'pending') return 'pending';
    if (status.kind === 'unmet') {
      const outcome = await this.#unmet(chunk, running, depth);
      if (outcome !== 'done') return outcome;
      // The call below has fired its event already, unless this was a test.
      return 'done';
    }
    await this.#byStatus(chunk, running, status);
    const ret = running.get(tag);
    if (ret !== undefined) await this.#fire(chunk, ret);
    return 'done';
  }

  async #byStatus(chunk: Chunk, running: Running, status: Judged): Promise<void> {
    const tag = tagOf(chunk);
    const isTest = chunk.get('__prereq__') === true;
    switch (status.kind) {
      case 'skip_req':
        return this.#notRun(chunk, running, true, SKIPPED);
      case 'pre':
        return this.#notRun(chunk, running, true, NO_CHANGES);
      case 'onfail':
        return this.#notRun(chunk, running, true, NO_FAILURE);
      case 'onchanges':
        return this.#notRun(chunk, running, true, NONE_CHANGED);
      case 'fail':
        return this.#failed(chunk, running, status);
      case 'skip_watch':
      case 'change':
        if (isTest) break;
        running.set(tag, await this.#watching(chunk, running, status));
        return;
      default:
        break;
    }
    const ret = await this.#call(chunk, running);
    (isTest ? this.#tested : running).set(tag, ret);
  }

  async #watching(chunk: Chunk, running: Running, status: Judged): Promise<SaltMap> {
    const ret = await this.#call(chunk, running);
    if (status.kind === 'skip_watch') {
      return ret.set('comment', `${textAt(ret, 'comment')}${WATCH_SKIPPED}`);
    }
    if (isTruthy(ret.get('changes')) || isTruthy(ret.get('skip_watch'))) return ret;
    const watching = new Map(chunk)
      .set('sfun', chunk.get('fun') ?? null)
      .set('fun', 'mod_watch')
      .set('__reqs__', requirementsMap(status.requirements));
    return this.#call(watching, running);
  }

  #failed(chunk: Chunk, running: Running, { requirements }: Judged): void {
    const tag = tagOf(chunk);
    const tested = this.#tested.get(tag);
    if (tested !== undefined) {
      // The changes were only proposed.
      tested.set('changes', new Map());
      withNames(tested.set('__run_num__', this.nextNumber()), chunk);
      running.set(tag, tested);
      return;
    }
    const names = new Set<string>();
    for (const required of [...requirements.values()].flat()) {
      const requiredTag = tagOf(required);
      const ret = this.#tested.get(requiredTag) ?? running.get(requiredTag);
      if (ret?.get('result') !== false) continue;
      names.add(`${pyStr(required.get('__sls__') ?? null)}.${textAt(required, '__id__')}`);
    }
    const comment = `One or more requisite failed: ${[...names].join(', ')}`;
    this.#notRun(chunk, running, false, comment);
  }

  #notRun(chunk: Chunk, running: Running, result: boolean, comment: string): void {
    const ret = this.#skipped(chunk, result, comment);
    running.set(tagOf(chunk), ret);
    if (chunk.get('__prereq__') === true) this.#tested.set(tagOf(chunk), ret);
  }

  #skipped(chunk: Chunk, result: boolean, comment: string): SaltMap {
    const ret = mapOf({
      changes: mapOf({}),
      result,
      duration: durationOf(0),
      start_time: timeOfDay(this.#ports.now()),
      comment,
      __state_ran__: false,
      __run_num__: this.nextNumber(),
    });
    return withNames(ret, chunk);
  }

  /** Runs the dependencies of a state that have not run yet, then the state (Salt: as its name). */
  async #unmet(
    chunk: Chunk,
    running: Running,
    depth: number,
  ): Promise<'done' | 'pending' | 'failhard'> {
    const tag = tagOf(chunk);
    for (const [, required] of this.#graph.dependenciesOf(chunk)) {
      if (running.has(tagOf(required))) continue;
      const outcome = await this.#chunk(required, running, 0);
      if (outcome !== 'done') return outcome;
      if (this.#failsHard(required, running)) return 'failhard';
    }
    if (chunk.get('__prereq__') === true) await this.#test(chunk, running);
    else if (depth >= DEPTH_MAX) {
      this.#ports.log('error', 'Recursive requisite found');
      const ret = mapOf({
        changes: mapOf({}),
        result: false,
        comment: 'Recursive requisite found',
        __run_num__: this.#runNumber,
      });
      running.set(tag, withNames(ret, chunk));
    } else {
      const outcome = await this.#chunk(chunk, running, depth + 1);
      if (outcome !== 'done') return outcome;
    }
    return this.#failsHard(chunk, running) ? 'failhard' : 'done';
  }

  /** The test run of a state that another state waits for by `prereq`. */
  async #test(chunk: Chunk, running: Running): Promise<void> {
    const tag = tagOf(chunk);
    const { kind } = await this.#status(chunk, running);
    if (kind === 'pre') {
      const ret = this.#skipped(chunk, true, NO_CHANGES);
      this.#tested.set(tag, ret);
      return;
    }
    const ret = await this.#call(chunk, running);
    this.#tested.set(tag, ret);
    if (isTruthy(ret.get('changes')) || kind !== 'change') return;
    ret.set('changes', mapOf({ watch: 'watch' })).set('result', null);
  }

  async #status(chunk: Chunk, running: Running): Promise<Judged> {
    const requirements = new Map<Requisite, Chunk[]>();
    for (const [kind, required] of this.#graph.dependenciesOf(chunk)) {
      requirements.set(kind, [...(requirements.get(kind) ?? []), required]);
    }
    const tags = [...requirements.values()].flat().map(tagOf);
    const present = tags.filter((tag) => running.has(tag));
    let pending = false;
    if (isTruthy(chunk.get('parallel'))) {
      this.#parallels.startWaiting(running);
      pending = this.#parallels.isBusy(present);
    } else await this.#parallels.some(present, running);
    return { kind: statusOf(requirements, running, this.#tested, pending), requirements };
  }

  /** Calls a state and returns its whole result (Salt: State.call). */
  async #call(chunk: Chunk, running: Running, retries = 1): Promise<SaltMap> {
    const startMs = this.#ports.now();
    const name = textAt(chunk, 'name');
    const isTest = chunk.get('__prereq__') === true;
    const errors = verifyData(chunk, this.#ports);
    if (errors.length > 0) {
      const ret = mapOf({
        result: false,
        name: chunk.get('name') ?? null,
        changes: mapOf({}),
        comment: errors.map((error) => `${error}\n`).join(''),
        __run_num__: this.nextNumber(),
      });
      this.#log(ret);
      return ret;
    }
    if (!isTest) this.#ports.log('info', `Executing state ${fullName(chunk)} for [${strip(name)}]`);
    const calling = this.#calling(chunk, running);
    const parallel = !isTest && isTruthy(chunk.get('parallel'));
    if (parallel) return this.#parallel(chunk, calling, startMs);
    const called = await calling(isTest || this.#options.test);
    const ret = unified(called.ret);
    if (isTest) {
      chunk.set('__prereq__', false);
      return ret;
    }
    await this.#stamp(chunk, { ...called, ret }, Math.min(startMs, called.startMs));
    return this.#retried(chunk, running, ret, retries);
  }

  /** A call of the state function, under a key that is the same after a resumption. */
  #calling(chunk: Chunk, running: Running): (test: boolean) => Promise<DoneStep> {
    const tag = tagOf(chunk);
    return (test) => {
      const nth = (this.#calls.get(tag) ?? 0) + 1;
      this.#calls.set(tag, nth);
      const key = keyOf(tag, nth);
      return callFunction(chunk, { ports: this.#ports, running, key, test });
    };
  }

  async #stamp(chunk: Chunk, { ret, startMs, endMs }: DoneStep, fromMs: number): Promise<void> {
    ret.set('__sls__', chunk.get('__sls__') ?? null);
    ret.set('__run_num__', this.nextNumber());
    if (isTruthy(chunk.get('no_log'))) {
      for (const key of ['name', 'comment', 'changes']) ret.set(key, masked(ret.get(key) ?? null));
    }
    this.#log(ret);
    if (isTruthy(chunk.get('reload_pillar'))) await this.#ports.reloadPillar();
    ret.set('start_time', timeOfDay(Math.min(fromMs, startMs)));
    ret.set('duration', durationOf(endMs - fromMs));
    ret.set('__id__', chunk.get('__id__') ?? null);
  }

  async #parallel(
    chunk: Chunk,
    calling: (test: boolean) => Promise<DoneStep>,
    startMs: number,
  ): Promise<SaltMap> {
    const work = async (): Promise<SaltMap> => {
      let called = await calling(this.#options.test);
      const ret = parallelResult(called);
      if (!chunk.has('retry')) return ret;
      const retry = readRetry(chunk.get('retry') ?? null);
      if (this.#options.test) return ret.set('comment', joined(ret, retryText(retry)));
      let last = ret;
      for (let nth = 1; retry.attempts >= nth && retry.until !== last.get('result'); nth += 1) {
        const interval = retry.interval + this.#splay(retry.splay);
        await this.#beforeRetry(chunk, interval);
        called = await calling(false);
        const next = unified(called.ret);
        const comment = textAt(next, 'comment');
        const shown = comment === '' ? '' : attemptText(nth, next);
        next.set('comment', `${textAt(last, 'comment')}\n${shown}`);
        const ms = called.endMs - called.startMs + msOf(last.get('duration')) + interval * 1000;
        next.set('duration', durationOf(ms));
        if (nth === 1) next.set('start_time', last.get('start_time') ?? '');
        last = next;
      }
      return last;
    };
    const isStarted = this.#parallels.add(tagOf(chunk), work);
    const ret = mapOf({
      name: chunk.get('name') ?? null,
      result: null,
      changes: mapOf({}),
      comment: isStarted ? STARTED : WAITING,
    });
    await this.#stamp(chunk, { ret, startMs, endMs: this.#ports.now() }, startMs);
    return ret;
  }

  async #retried(chunk: Chunk, running: Running, ret: SaltMap, retries: number): Promise<SaltMap> {
    if (!chunk.has('retry') || chunk.has('parallel')) return ret;
    const retry = readRetry(chunk.get('retry') ?? null);
    if (this.#options.test) return ret.set('comment', joined(ret, retryText(retry)));
    if (retry.until === ret.get('result') || retry.attempts <= retries) return ret;
    const interval = retry.interval + this.#splay(retry.splay);
    await this.#beforeRetry(chunk, interval);
    const next = await this.#call(chunk, running, retries + 1);
    next.set('comment', `${attemptText(retries, ret)}\n${textAt(next, 'comment')}`);
    const ms = msOf(next.get('duration')) + msOf(ret.get('duration')) + interval * 1000;
    next.set('duration', durationOf(ms));
    if (retries === 1) next.set('start_time', ret.get('start_time') ?? '');
    return next;
  }

  /** The wait between two attempts, in seconds; none if a resumed run knows the next one. */
  async #beforeRetry(chunk: Chunk, interval: number): Promise<void> {
    const tag = tagOf(chunk);
    const next = (this.#calls.get(tag) ?? 0) + 1;
    if (this.#ports.ledger.done(keyOf(tag, next)) !== undefined) return;
    await this.#ports.sleep(interval * 1000);
  }

  /** A part of the splay: from the clock, as this library has no random numbers. */
  #splay(seconds: number): number {
    return seconds <= 0 ? 0 : Math.floor(this.#ports.now()) % (seconds + 1);
  }

  #log(ret: SaltMap): void {
    const result = ret.get('result') ?? null;
    this.#ports.log(result === true || result === null ? 'info' : 'error', logText(ret));
  }

  /** The event of a result (Salt: State.event). */
  async #fire(chunk: Chunk, ret: SaltMap): Promise<void> {
    const { id, jid, stateEvents } = this.#options;
    const asked = chunk.get('fire_event') ?? false;
    if (!stateEvents && !isTruthy(asked)) return;
    const data = mapOf({ ret: new Map(ret) });
    const run = jid ?? 'None';
    if (asked === true || typeof asked === 'string') {
      const name = asked === true ? textAt(ret, 'name') : asked;
      await this.#ports.fire(`salt/state_result/${run}/${id}/${name}`, data);
      return;
    }
    const number = pyRepr(ret.get('__run_num__') ?? null);
    data.set('len', this.#length);
    await this.#ports.fire(`salt/job/${run}/prog/${id}/${number}`, data);
  }
}

/** The key of the nth call of a state: the same after a resumption. */
function keyOf(tag: string, nth: number): string {
  return `${tag}#${nth}`;
}

/** A status with the requirements that decided it. */
interface Judged {
  readonly kind: Status;
  readonly requirements: ReadonlyMap<Requisite, readonly Chunk[]>;
}

function requirementsMap(requirements: Judged['requirements']): SaltMap {
  return new Map([...requirements].map(([kind, chunks]) => [kind, [...chunks] as SaltValue]));
}

function parallelResult({ ret, startMs, endMs }: DoneStep): SaltMap {
  return unified(ret)
    .set('start_time', timeOfDay(startMs))
    .set('duration', durationOf(endMs - startMs))
    .set('__parallel__', true);
}

function attemptText(nth: number, ret: SaltMap): string {
  const result = pyStr(ret.get('result') ?? null);
  const comment = textAt(ret, 'comment');
  const returned = `Returned a result of "${result}"`;
  return `Attempt ${nth}: ${returned}, with the following comment: "${comment}"`;
}

function joined(ret: SaltMap, text: string): string {
  return `${textAt(ret, 'comment')}  ${text}`;
}

const SKIPPED = 'State was not run because requisites were skipped by another state';
const NO_CHANGES = 'No changes detected';
const NO_FAILURE = 'State was not run because onfail req did not change';
const NONE_CHANGED = 'State was not run because none of the onchanges reqs changed';
const WATCH_SKIPPED = ' mod_watch was not run because requisites were skipped by another state';
const STARTED = 'Started in a separate process';
const WAITING = 'Waiting to be started in a separate process, max_parallel hit';
