import { batchSize } from '@brine/client';
import { boolOf, intOf, listOf, mapIn, mapOf, type SaltMap, textOf } from '@brine/wire';

/** Settings of a batch. Times in ms. */
export interface BatchSettings {
  /** `10` or `25%`: number of minions that run at a time. */
  readonly size: string;
  /** Time that a slot stays empty after a return (`--batch-wait`). */
  readonly waitMs: number;
  /** Stops after the first return with a retcode other than 0. */
  readonly failhard: boolean;
  /** Number of minions that run first; the others wait until all of them succeed (ours). */
  readonly canary?: string;
  /** Stops when more minions than this number, or share of all, have failed (ours). */
  readonly halt?: string;
  /** Time after which a silent minion is asked whether it runs the job. */
  readonly timeoutMs: number;
  /** Time to wait for that answer. */
  readonly gatherMs: number;
}

/** The next step of a batch. */
export interface BatchStep {
  /** Minions that are about to run. */
  readonly dispatched: readonly string[];
  /** Minions that have returned, in the order of their returns. */
  readonly finished: readonly string[];
  /** Minions that sent no return and do not run the job. */
  readonly silent: readonly string[];
}

/** Reads the settings as sent and stored. @throws BatchSizeError Error */
export function settingsOf(map: SaltMap): BatchSettings {
  const [canary, halt] = [textOf(map, 'canary'), textOf(map, 'halt')];
  const settings: BatchSettings = {
    size: textOf(map, 'size') ?? '100%',
    waitMs: boundedMs(map, 'wait_ms', 0),
    failhard: boolOf(map, 'failhard') === true,
    timeoutMs: Math.max(100, boundedMs(map, 'timeout_ms', 5_000)),
    gatherMs: Math.max(100, boundedMs(map, 'gather_ms', 10_000)),
    ...(canary === undefined ? {} : { canary }),
    ...(halt === undefined ? {} : { halt }),
  };
  // Invalid sizes are refused before anything runs.
  for (const size of [settings.size, canary, halt]) if (size !== undefined) batchSize(size, 1);
  return settings;
}

/** The settings as sent and stored; {@link settingsOf} reads them. */
export function settingsMap(settings: BatchSettings): SaltMap {
  const { size, waitMs, failhard, canary, halt, timeoutMs, gatherMs } = settings;
  return mapOf({
    size,
    failhard,
    canary,
    halt,
    wait_ms: waitMs,
    timeout_ms: timeoutMs,
    gather_ms: gatherMs,
  });
}

/** A day: longer waits between minions are no batch. */
const MS_MAX = 86_400_000;

function boundedMs(map: SaltMap, name: string, preset: number): number {
  const value = map.get(name);
  if (typeof value !== 'number' || !Number.isFinite(value)) return preset;
  return Math.min(Math.max(0, Math.round(value)), MS_MAX);
}

/** A minion in flight. */
interface Flight {
  /** `running`: it may return until `untilMs`. `asked`: it may answer until then that it runs. */
  state: 'running' | 'asked';
  untilMs: number;
}

/**
 * The state of a batch, on a clock of its caller. Minions are dispatched in the order of their
 * list, so the published ones are a prefix of it (Salt: salt/utils/batch_state.py).
 */
export class BatchPlan {
  readonly ids: readonly string[];
  readonly size: number;
  readonly #settings: BatchSettings;
  readonly #active = new Map<string, Flight>();
  readonly #silent: string[];
  /** Times at which the slots of `--batch-wait` are free again. */
  #waits: number[];
  readonly #canaries: ReadonlySet<string>;
  readonly #haltBeyond: number;
  /** Lengths of the dispatched and the surely published prefix of the list. */
  #about: number;
  #published: number;
  #done: number;
  #failures: number;
  #highest: number;
  #seq: number;
  #paused: boolean;
  #halted: string | undefined;
  #last: BatchStep = NOTHING;

  /** @param saved the output of {@link saved}, from another process */
  constructor(ids: readonly string[], settings: BatchSettings, nowMs: number, saved?: SaltMap) {
    this.ids = ids;
    this.#settings = settings;
    this.size = batchSize(settings.size, ids.length);
    const { canary, halt } = settings;
    const canaries = canary === undefined ? 0 : batchSize(canary, ids.length);
    this.#canaries = new Set(ids.slice(0, canaries));
    this.#haltBeyond = halt === undefined ? Infinity : haltLimit(halt, ids.length);
    const number = (name: string): number => (saved && intOf(saved, name)) ?? 0;
    this.#about = number('about');
    this.#published = number('published');
    this.#done = number('done');
    this.#failures = number('failures');
    this.#highest = number('highest');
    this.#seq = number('seq');
    this.#paused = saved !== undefined && boolOf(saved, 'paused') === true;
    this.#halted = saved && textOf(saved, 'halted');
    this.#silent = saved === undefined ? [] : textsIn(saved, 'silent');
    this.#waits = ((saved && listOf(saved, 'waits')) ?? []).filter((ms) => typeof ms === 'number');
    this.#last = saved === undefined ? NOTHING : stepOf(saved);
    // All get their whole time again: the process that counted it is gone.
    for (const id of saved === undefined ? [] : textsIn(saved, 'active')) {
      this.#active.set(id, { state: 'running', untilMs: nowMs + settings.timeoutMs });
    }
  }

  /** Minions that were dispatched and have not returned. */
  get active(): readonly string[] {
    return [...this.#active.keys()];
  }

  /** Minions that sent no return and do not run the job. */
  get silent(): readonly string[] {
    return this.#silent;
  }

  /** Dispatched, and not surely published: after a takeover these are published first. */
  get unpublished(): readonly string[] {
    return this.ids.slice(this.#published, this.#about);
  }

  /** Grows with each step. */
  get seq(): number {
    return this.#seq;
  }

  /** The last step. */
  get last(): BatchStep {
    return this.#last;
  }

  get isPaused(): boolean {
    return this.#paused;
  }

  /** Why it was halted: `failhard`, `stop`, `canary`, `failures`, … */
  get halted(): string | undefined {
    return this.#halted;
  }

  get isOver(): boolean {
    if (this.#halted !== undefined) return true;
    return this.#about === this.ids.length && this.#active.size === 0;
  }

  /** For status and events (Salt: salt/runners/batch.py _summary). */
  get counts() {
    return {
      total: this.ids.length,
      completed: this.#done,
      active: this.#active.size,
      pending: this.ids.length - this.#about,
      failed: this.#silent.length,
      highest: this.#highest,
    };
  }

  /** Marks all dispatched minions as published. */
  confirmPublished(): void {
    this.#published = this.#about;
  }

  /** Takes a return; false if it does not count. */
  returned(id: string, retcode: number, nowMs: number): boolean {
    if (!this.#active.delete(id)) return false;
    this.#done += 1;
    this.#highest = Math.max(this.#highest, retcode);
    this.#rest(nowMs);
    if (retcode > 0) this.#failed(id);
    if (retcode > 0 && this.#settings.failhard) this.halt('failhard');
    return true;
  }

  /** Records that a minion still runs the job. */
  runs(id: string, nowMs: number): void {
    const flight = this.#active.get(id);
    if (flight === undefined) return;
    flight.state = 'running';
    flight.untilMs = nowMs + this.#settings.timeoutMs;
  }

  /** A minion that could not be published to counts as one that does not answer. */
  unreachable(id: string, nowMs: number): void {
    const flight = this.#active.get(id);
    if (flight !== undefined) Object.assign(flight, { state: 'asked', untilMs: nowMs });
  }

  /** Minions whose time is over, to be asked whether they still run the job. */
  toAsk(nowMs: number): readonly string[] {
    const due = [...this.#active].filter(
      ([, { state, untilMs }]) => state === 'running' && untilMs <= nowMs,
    );
    for (const [, flight] of due) {
      Object.assign(flight, { state: 'asked', untilMs: nowMs + this.#settings.gatherMs });
    }
    return due.map(([id]) => id);
  }

  /** Ends the wait for minions that did not answer that they run the job. */
  expire(nowMs: number): readonly string[] {
    const silent: string[] = [];
    for (const [id, { state, untilMs }] of this.#active) {
      if (state !== 'asked' || untilMs > nowMs) continue;
      this.#active.delete(id);
      this.#silent.push(id);
      silent.push(id);
      this.#rest(nowMs);
      this.#failed(id);
    }
    return silent;
  }

  /** Dispatches the next minions, as many as have room. */
  dispatch(nowMs: number): readonly string[] {
    this.#waits = this.#waits.filter((untilMs) => untilMs > nowMs);
    if (this.#halted !== undefined || this.#paused) return [];
    const end = this.#awaitsCanaries() ? this.#canaries.size : this.ids.length;
    const free = this.size - this.#active.size - this.#waits.length;
    const next = this.ids.slice(this.#about, Math.min(end, this.#about + Math.max(0, free)));
    for (const id of next) {
      const untilMs = nowMs + this.#settings.timeoutMs;
      this.#active.set(id, { state: 'running', untilMs });
    }
    this.#about += next.length;
    return next;
  }

  /** Counts a step, for the record and events. */
  step(step: BatchStep): void {
    this.#seq += 1;
    this.#last = step;
  }

  halt(reason: string): void {
    this.#halted ??= reason;
  }

  /** @returns true if that changed something */
  pause(paused: boolean): boolean {
    if (this.#paused === paused || this.isOver) return false;
    this.#paused = paused;
    return true;
  }

  /** Time of the next work without an event, in ms of the caller's clock. */
  wakeMs(): number {
    const flights = [...this.#active.values()].map(({ untilMs }) => untilMs);
    const waits = this.#about < this.ids.length && !this.#paused ? this.#waits : [];
    return [...flights, ...waits].reduce((first, ms) => Math.min(first, ms), Infinity);
  }

  /** The state that another process needs to continue. */
  saved(): SaltMap {
    const { dispatched, finished, silent } = this.#last;
    return mapOf({
      about: this.#about,
      published: this.#published,
      done: this.#done,
      failures: this.#failures,
      highest: this.#highest,
      seq: this.#seq,
      paused: this.#paused,
      halted: this.#halted,
      waits: [...this.#waits],
      active: [...this.#active.keys()],
      silent: [...this.#silent],
      last: mapOf({
        dispatched: [...dispatched],
        finished: [...finished],
        silent: [...silent],
      }),
    });
  }

  #rest(nowMs: number): void {
    if (this.#settings.waitMs > 0) this.#waits.push(nowMs + this.#settings.waitMs);
  }

  #failed(id: string): void {
    this.#failures += 1;
    if (this.#canaries.has(id)) this.halt('canary');
    if (this.#failures > this.#haltBeyond) this.halt('failures');
  }

  /** True until all of the first minions have succeeded. */
  #awaitsCanaries(): boolean {
    if (this.#about < this.#canaries.size) return true;
    if (this.#about > this.#canaries.size) return false;
    return this.#active.size > 0 && this.#canaries.size > 0;
  }
}

const NOTHING: BatchStep = { dispatched: [], finished: [], silent: [] };

/** Number of failures that are accepted: `5`, or `10%` of all, rounded down. */
function haltLimit(spec: string, minions: number): number {
  if (!spec.includes('%')) return Math.max(0, Number(spec));
  return Math.floor((Number(spec.replaceAll('%', '').trim()) / 100) * minions);
}

function textsIn(map: SaltMap, name: string): string[] {
  return (listOf(map, name) ?? []).filter((text) => typeof text === 'string');
}

function stepOf(saved: SaltMap): BatchStep {
  const last = mapIn(saved, 'last') ?? mapOf({});
  return {
    dispatched: textsIn(last, 'dispatched'),
    finished: textsIn(last, 'finished'),
    silent: textsIn(last, 'silent'),
  };
}
