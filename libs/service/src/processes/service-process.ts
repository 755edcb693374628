import { type ChildProcess, fork } from 'node:child_process';
import type { LogSource } from '../logs/log-lines.ts';
import type { BoundPorts } from './bound-ports.ts';
import { eachLine } from './lines.ts';
import { StackLine } from './stack-line.ts';

/** A service process to keep running. */
export interface ServiceSpec {
  /** Unique among the services; worker replicas are `worker-pool-1`, `worker-pool-2`, … */
  readonly name: string;
  /** The file that Node runs. */
  readonly entry: string;
  readonly args: readonly string[];
  /** Added to the supervisor's own environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Services of one stage start together, once those of the stages before are ready. */
  readonly stage: number;
  /**
   * The predecessor must release resources for one process at a time before a successor begins.
   * Default: both serve for a moment.
   */
  readonly yieldsFirst?: boolean;
}

/** Callbacks of a process. */
export interface ProcessEvents {
  readonly onLine: (source: LogSource, line: string) => void;
  readonly onReady: (process: ServiceProcess) => void;
  readonly onError: (error: Error) => void;
  readonly onExit: (
    process: ServiceProcess,
    code: number | null,
    signal: NodeJS.Signals | null,
  ) => void;
}

/** The report of a process about itself. */
export interface ProcessDump {
  /** The stack of its main thread, innermost first; empty: not in JavaScript. Absent: no answer. */
  readonly stack?: readonly string[];
  /** Memory, queues and counts. Absent: its event loop does not turn. */
  readonly facts?: object;
}

/** Messages of a process to its supervisor, once each. */
export type ServiceMessage = 'loaded' | 'ready' | 'yielded';

/**
 * Orders of the supervisor. `go`: begin to serve. `yield`: release resources for one process at a
 * time. `leave`: a successor serves, so end when all is done. `alone`: the predecessor has left.
 */
export type Order = 'go' | 'yield' | 'leave' | 'alone';

/** The descriptor on which the watching thread of a process sends the main thread's stack. */
const STACKS_FD = 4;

/** One process of a service. */
export class ServiceProcess {
  readonly pid: number | undefined;
  readonly startedMs = Date.now();
  /** The start by the monotonic clock. */
  readonly bornAt = performance.now();
  readonly gone: Promise<void>;
  healthPort: number | undefined;
  readonly #child: ChildProcess;
  readonly #stacks: StackLine;
  readonly #output = new Set<ServiceMessage>();
  #dumps: ((facts: object) => void)[] = [];
  #waiting: { readonly word: ServiceMessage; readonly resolve: (output: boolean) => void }[] = [];
  #isGone = false;

  /** @param isSuccessor it loads, reports that, and begins at the order `go`. */
  constructor(spec: ServiceSpec, ports: BoundPorts, isSuccessor: boolean, events: ProcessEvents) {
    const { entry, args, env, name } = spec;
    const own: Record<string, string> = {
      BRINE_INSTANCE: name,
      BRINE_SUPERVISED: '1',
      BRINE_STACKS_FD: String(STACKS_FD),
    };
    if (isSuccessor) own['BRINE_SUCCESSOR'] = '1';
    const child = fork(entry, args, {
      env: { ...process.env, ...env, ...ports.env, ...own },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc', 'pipe'],
    });
    this.#child = child;
    this.#stacks = new StackLine(endOf(child));
    this.pid = child.pid;
    const source: LogSource = { service: name, pid: child.pid ?? 0 };
    const onLine = (line: string): void => events.onLine(source, line);
    if (child.stdout) eachLine(child.stdout, onLine);
    if (child.stderr) eachLine(child.stderr, onLine);
    child.on('message', (data) => {
      if (ports.answer(child, data)) return;
      const message = this.#receive(data);
      if (message === 'ready') events.onReady(this);
    });
    this.gone = new Promise((resolve) => {
      const end = (code: number | null, signal: NodeJS.Signals | null): void => {
        if (this.#isGone) return;
        this.#isGone = true;
        for (const { resolve: settle } of this.#waiting.splice(0)) settle(false);
        resolve();
        events.onExit(this, code, signal);
      };
      child.once('exit', end);
      child.on('error', (error) => {
        events.onError(error);
        // A process that never began has no exit.
        if (child.pid === undefined) end(null, null);
      });
    });
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /** True once it has sent the message; false if it ends, or the time is over, before that. */
  async announces(message: ServiceMessage, timeoutMs: number): Promise<boolean> {
    if (this.#output.has(message)) return true;
    if (this.#isGone) return false;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<boolean>((resolve) => {
      timer = setTimeout(resolve, timeoutMs, false);
    });
    const output = new Promise<boolean>((resolve) =>
      this.#waiting.push({ word: message, resolve }),
    );
    const outcome = await Promise.race([output, late]);
    clearTimeout(timer);
    return outcome;
  }

  order(order: Order): void {
    // A process that ends at this moment does not receive it; onExit reports its end.
    if (this.#child.connected) this.#child.send(order, () => undefined);
  }

  /** Asks for its stack and its state. The stack comes also while its loop is blocked. */
  async dump(timeoutMs: number): Promise<ProcessDump> {
    const answered = new Promise<object>((resolve) => this.#dumps.push(resolve));
    if (this.#child.connected) this.#child.send('dump', () => undefined);
    const late = new Promise<undefined>((resolve) => {
      setTimeout(resolve, timeoutMs, undefined).unref();
    });
    const [stack, facts] = await Promise.all([
      Promise.race([this.#stacks.ask(), late]),
      Promise.race([answered, late]),
    ]);
    return {
      ...(stack === undefined ? {} : { stack }),
      ...(facts === undefined ? {} : { facts }),
    };
  }

  /** Asks it to stop and kills it after the deadline. Never rejects. */
  async stop(deadlineMs: number, onKill: () => void): Promise<void> {
    if (this.#isGone) return;
    this.#signal('SIGTERM');
    const timer = setTimeout(() => {
      onKill();
      this.kill();
    }, deadlineMs);
    await this.gone;
    clearTimeout(timer);
  }

  /** Ends it at once. */
  kill(): void {
    this.#signal('SIGKILL');
  }

  /**
   * A process that could not be spawned has the number 0 in Node until it reports that. A signal to
   * 0 would go to the whole group of this process, and to its parent.
   */
  #signal(name: NodeJS.Signals): void {
    if (this.pid !== undefined) this.#child.kill(name);
  }

  #receive(message: unknown): ServiceMessage | undefined {
    if (typeof message !== 'object' || message === null) return undefined;
    const { type, healthPort, facts } = message as Readonly<Record<string, unknown>>;
    if (type === 'dump' && typeof facts === 'object' && facts !== null) {
      for (const resolve of this.#dumps.splice(0)) resolve(facts);
    }
    if (type !== 'ready' && type !== 'loaded' && type !== 'yielded') return undefined;
    if (typeof healthPort === 'number') this.healthPort = healthPort;
    this.#output.add(type);
    this.#waiting = this.#waiting.filter(({ word: message, resolve }) => {
      if (message !== type) return true;
      resolve(true);
      return false;
    });
    return type;
  }
}

/** This process's end of the line to the watching thread. */
function endOf({ stdio }: Pick<Partial<ChildProcess>, 'stdio'>): unknown {
  // Without free file descriptors Node starts a child without them.
  return stdio?.[STACKS_FD];
}
