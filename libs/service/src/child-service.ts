import { type ChildProcess, fork } from 'node:child_process';
import type { Log } from '@brine/telemetry';
import { Backoff } from './backoff.ts';
import { eachLine } from './lines.ts';
import type { LogSource } from './log-lines.ts';

/** A service process to keep running. */
export interface ServiceSpec {
  /** Unique among the services; worker replicas are `worker-pool-1`, `worker-pool-2`, … */
  readonly name: string;
  /** File that is run by Node. */
  readonly entry: string;
  readonly args: readonly string[];
  /** Added to the supervisor's own environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Services of one stage start together, once those of the stages before are ready. */
  readonly stage: number;
}

/** What is known of a service process. */
export interface ServiceState {
  readonly name: string;
  readonly state: 'starting' | 'ready' | 'waiting' | 'stopped';
  readonly pid: number | undefined;
  readonly healthPort: number | undefined;
  /** ISO 8601. */
  readonly startedAt: string | undefined;
  readonly restarts: number;
}

/** What a child service tells its supervisor. */
export interface ChildEvents {
  readonly onLine: (source: LogSource, line: string) => void;
  readonly onChange: () => void;
}

/** One service process, started again whenever it ends, until it is stopped. */
export class ChildService {
  readonly #spec: ServiceSpec;
  readonly #log: Log;
  readonly #events: ChildEvents;
  readonly #backoff = new Backoff();
  #child: ChildProcess | undefined;
  #state: ServiceState['state'] = 'stopped';
  #healthPort: number | undefined;
  #startedMs = 0;
  /** The same of the clock that nobody sets. */
  #bornAt = 0;
  #restarts = 0;
  #stopping = false;
  #restart: NodeJS.Timeout | undefined;
  #waitingForReady: (() => void)[] = [];

  constructor(spec: ServiceSpec, log: Log, events: ChildEvents) {
    this.#spec = spec;
    this.#log = log;
    this.#events = events;
  }

  get stage(): number {
    return this.#spec.stage;
  }

  get state(): ServiceState {
    const running = this.#child !== undefined;
    return {
      name: this.#spec.name,
      state: this.#state,
      pid: this.#child?.pid,
      healthPort: running ? this.#healthPort : undefined,
      startedAt: running ? new Date(this.#startedMs).toISOString() : undefined,
      restarts: this.#restarts,
    };
  }

  start(): void {
    if (this.#stopping || this.#child) return;
    const { entry, args, env, name } = this.#spec;
    this.#healthPort = undefined;
    this.#startedMs = Date.now();
    this.#bornAt = performance.now();
    const child = fork(entry, args, {
      env: { ...process.env, ...env, BRINE_INSTANCE: name },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    this.#child = child;
    const source: LogSource = { service: name, pid: child.pid ?? 0 };
    const onLine = (line: string): void => this.#events.onLine(source, line);
    if (child.stdout) eachLine(child.stdout, onLine);
    if (child.stderr) eachLine(child.stderr, onLine);
    child.on('message', (message) => this.#onMessage(message));
    child.on('error', (error) => this.#log.error({ err: error, name }, 'service process error'));
    child.once('exit', (code, signal) => this.#onExit(code, signal));
    this.#enter('starting');
  }

  /** Resolves when the service has been ready, or is stopped. */
  async untilReady(): Promise<void> {
    if (this.#state === 'ready' || this.#stopping) return;
    await new Promise<void>((resolve) => this.#waitingForReady.push(resolve));
  }

  /** Asks the process to stop and kills it after the deadline. Idempotent; never rejects. */
  async stop(deadlineMs: number): Promise<void> {
    this.#stopping = true;
    clearTimeout(this.#restart);
    this.#release();
    const child = this.#child;
    if (!child) return this.#enter('stopped');
    const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    child.kill('SIGTERM');
    const timer = setTimeout(() => this.kill(), deadlineMs);
    await gone;
    clearTimeout(timer);
  }

  /** Ends the process at once. */
  kill(): void {
    this.#stopping = true;
    if (!this.#child) return;
    this.#log.warn({ name: this.#spec.name }, 'killing a service that did not stop');
    this.#child.kill('SIGKILL');
  }

  #onMessage(message: unknown): void {
    if (typeof message !== 'object' || message === null) return;
    const { type, healthPort } = message as { type?: unknown; healthPort?: unknown };
    if (type !== 'ready') return;
    if (typeof healthPort === 'number') this.#healthPort = healthPort;
    this.#enter('ready');
    this.#release();
  }

  #onExit(code: number | null, signal: NodeJS.Signals | null): void {
    this.#child = undefined;
    if (this.#stopping) return this.#enter('stopped');
    const delayMs = this.#backoff.next(performance.now() - this.#bornAt);
    this.#log.error({ name: this.#spec.name, code, signal, delayMs }, 'service ended, restarting');
    this.#restarts += 1;
    this.#enter('waiting');
    if (delayMs === 0) this.start();
    else this.#restart = setTimeout(() => this.start(), delayMs);
  }

  #release(): void {
    for (const resolve of this.#waitingForReady.splice(0)) resolve();
  }

  #enter(state: ServiceState['state']): void {
    this.#state = state;
    this.#events.onChange();
  }
}
