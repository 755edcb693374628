import type { Log } from '@brine/telemetry';
import type { LogSource } from '../logs/log-lines.ts';
import type { BoundPorts } from './bound-ports.ts';
import { serviceRestarts } from './restart-delays.ts';
import { type ProcessDump, ServiceProcess, type ServiceSpec } from './service-process.ts';

/** What is known of a service process. */
export interface ServiceState {
  readonly name: string;
  readonly state: 'starting' | 'ready' | 'waiting' | 'stopped';
  readonly pid: number | undefined;
  readonly healthPort: number | undefined;
  /** ISO 8601. */
  readonly startedAt: string | undefined;
  readonly restarts: number;
  /** Processes that were replaced and finish what they have. */
  readonly leaving?: readonly number[];
}

/** What a child service tells its supervisor. */
export interface ChildEvents {
  readonly onLine: (source: LogSource, line: string) => void;
  readonly onChange: () => void;
}

/** Times of a replacement, in ms; tests have shorter ones. */
export interface ReplaceTimes {
  /** A successor that does not serve by then is given up. */
  readonly readyMs: number;
  /** What only one may hold has to be let go of by then. */
  readonly yieldMs: number;
  /**
   * A replaced process has so long for what it has in hand, as a command that waits for returns.
   */
  readonly leaveMs: number;
  /** And to stop after that. */
  readonly stopMs: number;
}

/** Replaced processes of one service that may be there at a time: then the oldest has to stop. */
const MAX_LEAVING = 2;

/** One service, started again whenever its process ends, until it is stopped. */
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

  /** Its next process is started with the one of its name, if there is one. */
  use(specs: readonly ServiceSpec[]): void {
    this.#spec = specs.find(({ name }) => name === this.#spec.name) ?? this.#spec;
  }

  /** What its process tells of itself; undefined where there is none. */
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
   * Puts a new process in the place of the one that serves, which then finishes what it has in
   * hand. Throws Error where the new one does not come to serve: then the old one goes on, or,
   * where it had let go already, is started again.
   */
  async replace(times: ReplaceTimes): Promise<void> {
    const old = this.#current;
    if (this.#stopping || this.#next !== undefined) throw new Error('it stops, or is replaced');
    // Whatever begins now is new anyway.
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
    old.tell('leave');
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
    if (!(await next.says('loaded', times.readyMs))) throw new Error(`${name} did not load`);
    if (yieldsFirst === true) {
      old.tell('yield');
      // One that can not let go is stopped: two must not hold the same.
      if (!(await old.says('yielded', times.yieldMs)) && !old.isGone) {
        await old.stop(times.stopMs, () => this.#logKill());
      }
    }
    next.tell('go');
    if (await next.says('ready', times.readyMs)) return;
    // The old one has let go: it can not simply go on.
    if (yieldsFirst === true) await old.stop(times.stopMs, () => this.#logKill());
    throw new Error(`${name} did not come to serve`);
  }

  /** Gives a replaced process its time. */
  #letGo(old: ServiceProcess, { leaveMs, stopMs }: ReplaceTimes): void {
    const heir = this.#current;
    void old.gone.then(() => heir?.tell('alone'));
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
    if (this.#state !== 'ready') throw new Error(`${this.#spec.name} did not come to serve`);
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
