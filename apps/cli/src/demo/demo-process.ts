import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';

/** Timeout for an ordered stop of a process, ms. */
const STOP_MS = 20_000;
/** Lines of a log that a failure shows. */
const TAIL_LINES = 15;

/** A process of the demonstration, its output in a file. */
export class DemoProcess {
  readonly name: string;
  readonly log: string;
  readonly #child: ChildProcess;
  readonly #ended: Promise<string>;
  #running = true;

  constructor(
    name: string,
    program: string,
    args: readonly string[],
    log: string,
    env: Readonly<Record<string, string>> = {},
  ) {
    this.name = name;
    this.log = log;
    const file = openSync(log, 'a');
    // The channel closes when this process ends in any way, which ends the child.
    this.#child = spawn(process.execPath, [...process.execArgv, program, ...args], {
      stdio: ['ignore', file, file, 'ipc'],
      env: { ...process.env, ...env, BRINE_PARENT_WATCH: '1' },
    });
    closeSync(file);
    this.#ended = new Promise((resolve) => {
      this.#child.once('error', (error) => this.#end(resolve, error.message));
      this.#child.once('exit', (code, signal) => {
        this.#end(resolve, signal === null ? `exit code ${code ?? 0}` : `signal ${signal}`);
      });
    });
  }

  /** False once the process has ended. */
  get running(): boolean {
    return this.#running;
  }

  /** Undefined for a process that could not be started. */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Resolves with a text when the process ends. */
  get ended(): Promise<string> {
    return this.#ended;
  }

  /** The last lines it wrote. */
  tail(): string {
    try {
      const lines = readFileSync(this.log, 'utf8').trimEnd().split('\n');
      return lines.slice(-TAIL_LINES).join('\n');
    } catch {
      // It has written nothing.
      return '';
    }
  }

  /** Asks the process to stop and waits. Kills it if that takes too long. */
  async stop(): Promise<void> {
    if (!this.#running) return;
    this.#signal('SIGTERM');
    const timer = setTimeout(() => this.kill(), STOP_MS);
    await this.#ended;
    clearTimeout(timer);
  }

  /** Kills the process at once, for the exit handler of this process. */
  kill(): void {
    if (this.#running) this.#signal('SIGKILL');
  }

  /** Without a pid (failed spawn) the signal would go to the group of this process. */
  #signal(name: NodeJS.Signals): void {
    if (this.#child.pid !== undefined) this.#child.kill(name);
  }

  #end(resolve: (how: string) => void, how: string): void {
    this.#running = false;
    resolve(how);
  }
}
