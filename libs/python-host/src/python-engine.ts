import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { childEnvironment } from '@brine/environment';
import type { TakeLine } from '@brine/tasks';
import { LineLog } from './line-log.ts';
import { type PythonSettings, UTF8_OUTPUT } from './settings.ts';

const PROGRAM = fileURLToPath(new URL('../python/engine.py', import.meta.url));

/** The exit code with which engine.py reports that Salt has no such engine. */
const UNKNOWN = 3;
/** Time for an engine to end, ms. */
const STOP_MS = 5_000;

/** An engine of the site's Salt in its own process, with the event sockets of this host. */
export class PythonEngine {
  /** Resolves when the process has ended; `refused` if the next one would end in the same way. */
  readonly gone: Promise<{ readonly text: string; readonly refused: boolean }>;
  readonly #child: ChildProcess;
  readonly #lines: LineLog;
  #lastLine = '';
  #isStopped = false;

  /** @param options of its entry in `engines:`, passed as keywords to its function `start` */
  constructor(
    { python, configFile, memoryBytes }: Omit<PythonSettings, 'runnerMs'>,
    engine: { readonly name: string; readonly options: object },
    take: TakeLine,
  ) {
    this.#lines = new LineLog((level, text) => {
      this.#lastLine = text;
      take(level, text);
    });
    const args = ['-B', PROGRAM, configFile, engine.name, String(memoryBytes)];
    this.#child = spawn(python, args, {
      cwd: '/',
      // A process group of its own, which ends with the engine.
      detached: true,
      env: childEnvironment(process.env, UTF8_OUTPUT),
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    for (const output of [this.#child.stdout, this.#child.stderr]) {
      output?.setEncoding('utf8').on('data', (part: string) => this.#lines.write(part));
    }
    // A process that has ended takes no options; `exit` reports its end.
    this.#child.stdin?.on('error', () => undefined);
    this.#child.stdin?.write(`${JSON.stringify(engine.options)}\n`);
    this.gone = new Promise((resolve) => {
      this.#child.once('error', (error) => {
        resolve({ text: `the interpreter does not start: ${error.message}`, refused: true });
      });
      this.#child.once('exit', (code, signal) => {
        this.#killGroup('SIGKILL');
        this.#lines.end();
        resolve(this.#endOf(code, signal));
      });
    });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Ends it; resolves after the end. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#killGroup('SIGTERM');
    const timer = setTimeout(() => this.#killGroup('SIGKILL'), STOP_MS);
    await this.gone;
    clearTimeout(timer);
  }

  #endOf(code: number | null, signal: NodeJS.Signals | null) {
    if (this.#isStopped) return { text: 'it was stopped', refused: false };
    const how = signal === null ? `it ended with code ${code ?? 'unknown'}` : `by ${signal}`;
    const text = this.#lastLine === '' ? how : `${how} (${this.#lastLine})`;
    return { text, refused: code === UNKNOWN };
  }

  #killGroup(signal: NodeJS.Signals): void {
    const { pid } = this.#child;
    if (pid === undefined) return;
    try {
      process.kill(-pid, signal);
    } catch {
      // The whole group has ended by itself.
    }
  }
}
