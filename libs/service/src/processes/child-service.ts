import type { Log } from '@brine/telemetry';
import type { LogSource } from '../logs/log-lines.ts';
import type { BoundPorts } from './bound-ports.ts';
import { serviceRestarts } from './restart-delays.ts';
import { type ProcessDump, ServiceProcess, type ServiceSpec } from './service-process.ts';

/** The state of a service process. */
export interface ServiceState {
  readonly name: string;
  readonly state: 'starting' | 'ready' | 'waiting' | 'stopped';
  readonly pid: number | undefined;
  readonly healthPort: number | undefined;
  /** ISO 8601. */
  readonly startedAt: string | undefined;
  readonly restarts: number;
  /** Replaced processes that finish their work. */
  readonly leaving?: readonly number[];
}

/** Callbacks of a child service to its supervisor. */
export interface ChildEvents {
  readonly onLine: (source: LogSource, line: string) => void;
  readonly onChange: () => void;
}

/** Times of a replacement, in ms; tests use shorter ones. */
export interface ReplaceTimes {
  /** A successor that does not serve by then is given up. */
  readonly readyMs: number;
  /** Resources for one process at a time must be released by then. */
  readonly yieldMs: number;
  /**
   * The time for a replaced process to finish its work, such as a command that waits for returns.
   */
  readonly leaveMs: number;
  /** The time to stop after that. */
  readonly stopMs: number;
}

/** Replaced processes of one service at a time; beyond it the oldest has to stop. */
const MAX_LEAVING = 2;

/** A service, started again whenever its process ends, until it is stopped. */
export class ChildService {
  #spec: ServiceSpec;
  readonly #log: Log;
  readonly #events: ChildEvents;
  readonly #ports: BoundPorts;
  readonly #backoff = serviceRestarts();
  readonly #leaving = new Set<ServiceProcess>();
  #current: ServiceProcess | undefined;
  #next: ServiceProcess | undefined;
  #state: ServiceState['state'] = 'stopped';
  #restarts = 0;
  #stopping = false;
  #restart: NodeJS.Timeout | undefined;
  #waitingForReady: (() => void)[] = [];

  constructor(spec: ServiceSpec, log: Log, ports: BoundPorts, events: ChildEvents) {
    this.#spec = spec;
    this.#log = log;
    this.#ports = ports;
    this.#events = events;
  }

  get stage(): number {
    return this.#spec.stage;
  }

  get state(): ServiceState {
    const current = this.#current;
    const leaving = [...this.#leaving].flatMap(({ pid }) => (pid === undefined ? [] : [pid]));
    return {
      name: this.#spec.name,
      state: this.#state,
      pid: current?.pid,
      healthPort: current?.healthPort,
      startedAt: current && new Date(current.startedMs).toISOString(),
      restarts: this.#restarts,
      ...(leaving.length > 0 ? { leaving } : {}),
    };
  }

  /** Starts its next process with the spec of its name, if there is one. */
  use(specs: readonly ServiceSpec[]): void {
    this.#spec = specs.find(({ name }) => name === this.#spec.name) ?? this.#spec;
  }

  /** The report of its process about itself; undefined if there is no process. */
  dump(timeoutMs: number): Promise<ProcessDump | undefined> {
    return this.#current?.dump(timeoutMs) ?? Promise.resolve(undefined);
  }

  start(): void {
    if (this.#stopping || this.#current) return;
    try {
      this.#current = this.#spawn(false);
    } catch (error) {
      // The host lacks memory for a process, and may have it later.
      const delayMs = this.#backoff.next(0);
      this.#log.error({ err: error, name: this.#spec.name, delayMs }, 'service not started');
      return this.#startAfter(delayMs);
    }
    this.#enter('starting');
  }

  /** Resolves when the service has been ready, or is stopped. */
  async untilReady(): Promise<void> {
    if (this.#state === 'ready' || this.#stopping) return;
    await new Promise<void>((resolve) => this.#waitingForReady.push(resolve));
  }

  /**
   * Replaces the serving process with a new one; the old one then finishes its work. Throws Error
   * if the new one does not come to serve. Then the old one continues or, if it had released its
   * resources already, is started again.
   */
  async replace(times: ReplaceTimes): Promise<void> {
    const old = this.#current;
    if (this.#stopping || this.#next !== undefined) throw new Error('already stopping or replaced');
    // A process that starts now is new anyway.
    if (old === undefined || this.#state !== 'ready') return this.#readyWithin(times.readyMs);
    const next = (this.#next = this.#spawn(true));
    try {
      await this.#handOver(old, next, times);
    } catch (error) {
      this.#next = undefined;
      next.kill();
      if (this.#current === undefined && !this.#stopping) this.start();
      throw error;
    }
    this.#next = undefined;
    this.#current = next;
    this.#enter('ready');
    old.order('leave');
    this.#letGo(old, times);
  }

  /** Asks the processes to stop and kills them after the deadline. Idempotent; never rejects. */
  async stop(deadlineMs: number): Promise<void> {
    this.#stopping = true;
    clearTimeout(this.#restart);
    this.#release();
    const all = this.#processes();
    if (all.length === 0) return this.#enter('stopped');
    await Promise.all(all.map((one) => one.stop(deadlineMs, () => this.#logKill())));
  }

  /** Ends the processes at once. */
  kill(): void {
    this.#stopping = true;
    for (const one of this.#processes()) {
      this.#logKill();
      one.kill();
    }
  }

  #processes(): readonly ServiceProcess[] {
    return [this.#current, this.#next, ...this.#leaving].filter((one) => one !== undefined);
  }

  #spawn(isSuccessor: boolean): ServiceProcess {
    const { name } = this.#spec;
    return new ServiceProcess(this.#spec, this.#ports, isSuccessor, {
      onLine: this.#events.onLine,
      onError: (error) => this.#log.error({ err: error, name }, 'service process error'),
      onReady: (process) => {
        if (process !== this.#current) return;
        this.#enter('ready');
        this.#release();
      },
      onExit: (process, code, signal) => this.#onExit(process, code, signal),
    });
  }

  async #handOver(old: ServiceProcess, next: ServiceProcess, times: ReplaceTimes): Promise<void> {
    const { name, yieldsFirst } = this.#spec;
    if (!(await next.announces('loaded', times.readyMs))) throw new Error(`${name} did not load`);
    if (yieldsFirst === true) {
      old.order('yield');
      // A process that can not release its resources is stopped: two must not have them.
      if (!(await old.announces('yielded', times.yieldMs)) && !old.isGone) {
        await old.stop(times.stopMs, () => this.#logKill());
      }
    }
    next.order('go');
    if (await next.announces('ready', times.readyMs)) return;
    // The old process has released its resources and can not simply continue.
    if (yieldsFirst === true) await old.stop(times.stopMs, () => this.#logKill());
    throw new Error(`${name} did not become ready`);
  }

  /** Gives a replaced process time to finish. */
  #letGo(old: ServiceProcess, { leaveMs, stopMs }: ReplaceTimes): void {
    const heir = this.#current;
    void old.gone.then(() => heir?.order('alone'));
    if (old.isGone) return;
    this.#leaving.add(old);
    const stop = (one: ServiceProcess): void => void one.stop(stopMs, () => this.#logKill());
    const [oldest] = this.#leaving;
    if (this.#leaving.size > MAX_LEAVING && oldest !== undefined) stop(oldest);
    const timer = setTimeout(stop, leaveMs, old);
    void old.gone.then(() => {
      clearTimeout(timer);
      this.#leaving.delete(old);
      this.#events.onChange();
    });
    this.#events.onChange();
  }

  async #readyWithin(timeoutMs: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, timeoutMs)));
    await Promise.race([this.untilReady(), late]);
    clearTimeout(timer);
    if (this.#state !== 'ready') throw new Error(`${this.#spec.name} did not become ready`);
  }

  #onExit(process: ServiceProcess, code: number | null, signal: NodeJS.Signals | null): void {
    if (process !== this.#current) return;
    this.#current = undefined;
    if (this.#stopping) return this.#enter('stopped');
    if (this.#next !== undefined) return this.#enter('waiting');
    const delayMs = this.#backoff.next(performance.now() - process.bornAt);
    this.#log.error({ name: this.#spec.name, code, signal, delayMs }, 'service ended, restarting');
    this.#startAfter(delayMs);
  }

  #startAfter(delayMs: number): void {
    this.#restarts += 1;
    this.#enter('waiting');
    if (delayMs === 0) this.start();
    else this.#restart = setTimeout(() => this.start(), delayMs);
  }

  #logKill(): void {
    this.#log.warn({ name: this.#spec.name }, 'killing a service that did not stop');
  }

  #release(): void {
    for (const resolve of this.#waitingForReady.splice(0)) resolve();
  }

  #enter(state: ServiceState['state']): void {
    this.#state = state;
    this.#events.onChange();
  }
}
