import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { operatorEnvironment } from '@brine/environment';
import type { Outcome } from '../functions/run-function.ts';
import { isRunnerMessage, packRequest, readOutcome, type RunRequest } from './messages.ts';

/** Bounds of a pool. */
export interface RunnerPoolOptions {
  /** Most processes at once. */
  readonly maxRunners: number;
  /** Idle processes that are kept, so that a job starts at once. */
  readonly spareRunners: number;
}

/** A function that runs in another process. */
export interface RunningWork {
  readonly pid: number;
  /** Rejects with {@link RunnerGone} when the process ends first. */
  readonly done: Promise<Outcome>;
  signal(name: NodeJS.Signals): boolean;
}

/** Thrown when the process of a job ended before the job. */
export class RunnerGone extends Error {
  override readonly name = 'RunnerGone';
  readonly signal: NodeJS.Signals | null;

  constructor(code: number | null, signal: NodeJS.Signals | null) {
    super(`the process of the job ended with ${signal ?? `code ${code}`}`);
    this.signal = signal;
  }
}

// More jobs than this wait only after a mistake.
const MAX_WAITING = 1_000;

/** Processes that run functions: forked in advance, reused, limited in number. */
export class RunnerPool {
  readonly #options: RunnerPoolOptions;
  readonly #idle: Runner[] = [];
  readonly #all = new Set<Runner>();
  readonly #waiting: ((runner: Runner) => void)[] = [];
  #closed = false;

  constructor(options: RunnerPoolOptions) {
    this.#options = options;
  }

  /** Forks the spare processes. */
  warm(): void {
    const wanted = Math.min(this.#options.spareRunners, this.#options.maxRunners);
    while (!this.#closed && this.#idle.length < wanted && this.#hasRoom()) {
      this.#idle.push(this.#fork());
    }
  }

  /** Runs a function as soon as a process is free. @throws Error if too many wait */
  async start(request: RunRequest): Promise<RunningWork> {
    const runner = await this.#take();
    const { pid, done } = await runner.run(request);
    const finished = done.finally(() => this.#release(runner));
    finished.catch(() => undefined); // the caller awaits `done`
    return { pid, done: finished, signal: (name) => runner.signal(name) };
  }

  /** Ends all processes, busy ones too. */
  close(): void {
    this.#closed = true;
    for (const runner of this.#all) runner.signal('SIGKILL');
    this.#idle.length = 0;
  }

  #take(): Promise<Runner> {
    const idle = this.#idle.shift();
    // Prepares a process for the next job.
    setImmediate(() => this.warm());
    if (idle !== undefined) return Promise.resolve(idle);
    if (this.#hasRoom()) return Promise.resolve(this.#fork());
    if (this.#waiting.length >= MAX_WAITING) throw new Error('too many jobs wait for a process');
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #release(runner: Runner): void {
    const next = this.#waiting.shift();
    if (next !== undefined) return next(runner.alive ? runner : this.#fork());
    if (!runner.alive) return this.warm();
    // Reuses this process first; the last one may still be starting.
    this.#idle.unshift(runner);
    if (this.#idle.length > this.#options.spareRunners + 1) this.#idle.pop()?.end();
  }

  #hasRoom(): boolean {
    return this.#all.size < this.#options.maxRunners;
  }

  #fork(): Runner {
    const runner = new Runner((gone) => {
      this.#all.delete(gone);
      const at = this.#idle.indexOf(gone);
      if (at >= 0) this.#idle.splice(at, 1);
    });
    this.#all.add(runner);
    return runner;
  }
}

/** A forked process. */
class Runner {
  readonly #child: ChildProcess;
  readonly #ready: Promise<void>;
  #finish: { resolve(outcome: Outcome): void; reject(error: Error): void } | undefined;

  constructor(onGone: (runner: Runner) => void) {
    this.#child = fork(entry(), {
      serialization: 'advanced',
      execArgv: loaderArguments(),
      env: operatorEnvironment(process.env),
      // A runner must not use the IPC channel of the minion's own supervisor.
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    this.#ready = new Promise((resolve, reject) => {
      this.#child.on('message', (message) => {
        if (!isRunnerMessage(message)) return;
        if (message.type === 'ready') resolve();
        else this.#done(message.body);
      });
      this.#child.once('error', (error) => {
        reject(error);
        // A process that was never spawned has no exit.
        if (this.#child.pid === undefined) onGone(this);
      });
      this.#child.once('exit', (code, signal) => {
        const gone = new RunnerGone(code, signal);
        reject(gone);
        this.#finish?.reject(gone);
        onGone(this);
      });
    });
    this.#ready.catch(() => undefined); // `run` awaits it
  }

  get alive(): boolean {
    return this.#child.connected && this.#child.exitCode === null && !this.#child.killed;
  }

  async run(
    request: RunRequest,
  ): Promise<{ readonly pid: number; readonly done: Promise<Outcome> }> {
    await this.#ready;
    const done = new Promise<Outcome>((resolve, reject) => {
      this.#finish = { resolve, reject };
    });
    this.#child.send({ type: 'run', body: packRequest(request) });
    return { pid: this.#child.pid ?? 0, done };
  }

  #done(body: Uint8Array): void {
    const finish = this.#finish;
    this.#finish = undefined;
    try {
      finish?.resolve(readOutcome(body));
    } catch (error) {
      finish?.reject(error as Error);
    }
  }

  signal(name: NodeJS.Signals): boolean {
    // Without a pid the signal would go to the whole group of this process.
    return this.#child.pid !== undefined && this.#child.kill(name);
  }

  /** Ends an idle process. */
  end(): void {
    if (this.#child.connected) this.#child.disconnect();
  }
}

/** The entry is TypeScript when run from source, and JavaScript in `dist`. */
function entry(): string {
  const name = import.meta.url.endsWith('.ts') ? 'runner-main.ts' : 'runner-main.js';
  return fileURLToPath(new URL(name, import.meta.url));
}

function loaderArguments(): string[] {
  if (!import.meta.url.endsWith('.ts')) return process.execArgv;
  return ['--conditions=source', '--import', 'tsx'];
}
