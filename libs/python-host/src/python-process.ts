import { type ChildProcess, spawn } from 'node:child_process';
import type { Duplex } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { childEnvironment } from '@brine/environment';
import type { TakeLine } from '@brine/tasks';
import { mapIn, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { PythonCallError } from './errors.ts';
import { frameOf, FrameReader } from './frames.ts';
import { LineLog } from './line-log.ts';
import { LIMITS, type PythonSettings, type PythonUse, UTF8_OUTPUT } from './settings.ts';

const PROGRAM = fileURLToPath(new URL('../python/host.py', import.meta.url));

/** Descriptor of the pipe in the process; host.py has the same. */
const PIPE = 3;

/** The limit and the listener of a call. */
export interface CallSettings {
  readonly timeoutMs: number;
  /** Takes events that the module fires during the call. */
  readonly onEvent?: ((tag: string, data: SaltValue) => void) | undefined;
}

/** Files of modules have changed since the process loaded them: use another process. */
export class StaleProcessError extends Error {
  override readonly name = 'StaleProcessError';
}

interface Pending {
  readonly settings: CallSettings;
  readonly resolve: (value: SaltValue) => void;
  readonly reject: (error: Error) => void;
  events: number;
}

/** A process of the interpreter. It makes one call at a time. */
export class PythonProcess {
  readonly #child: ChildProcess;
  readonly #pipe: Duplex;
  readonly #reader = new FrameReader();
  readonly #ready: Promise<string>;
  readonly #lines: LineLog;
  #logged: { resolve(version: string): void; reject(error: Error): void } | undefined;
  #pending: Pending | undefined;
  #ended = false;
  #lastLine = '';

  private constructor(settings: PythonSettings, use: PythonUse, take: TakeLine) {
    const { python, configFile, memoryBytes } = settings;
    const args = ['-B', PROGRAM, configFile, use, String(memoryBytes)];
    this.#lines = new LineLog((level, text) => {
      this.#lastLine = text;
      take(level, text);
    });
    this.#ready = new Promise((resolve, reject) => (this.#logged = { resolve, reject }));
    this.#child = spawn(python, args, {
      cwd: '/',
      // A process group of its own, which ends with the process.
      detached: true,
      env: childEnvironment(process.env, UTF8_OUTPUT),
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    });
    this.#child.on('error', (error) => this.#end(`does not start: ${error.message}`));
    this.#pipe = this.#child.stdio[PIPE] as Duplex;
    this.#pipe.on('data', (part: Buffer) => this.#read(part));
    // The process has ended; `exit` reports the reason.
    this.#pipe.on('error', () => undefined);
    for (const output of [this.#child.stdout, this.#child.stderr]) {
      output?.setEncoding('utf8').on('data', (part: string) => this.#lines.write(part));
    }
    this.#child.on('exit', (code, signal) => this.#exited(howItEnded(code, signal)));
  }

  /** Starts a process; resolves when its Salt is loaded. @throws PythonCallError `start` */
  static async start(
    settings: PythonSettings,
    use: PythonUse,
    take: TakeLine,
  ): Promise<PythonProcess> {
    const started = new PythonProcess(settings, use, take);
    const timer = setTimeout(() => started.#kill('start', 'took too long'), LIMITS.startMs);
    try {
      await started.#ready;
      return started;
    } finally {
      clearTimeout(timer);
    }
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Makes a call. @throws PythonCallError; StaleProcessError before the call had any effect */
  async call(op: string, given: SaltMap, settings: CallSettings): Promise<SaltValue> {
    const frame = frameOf(mapOf({ op, given }));
    if (this.#ended) throw new PythonCallError('ended', 'the Python process has ended');
    const seconds = settings.timeoutMs / 1000;
    const timer = setTimeout(
      () => this.#kill('late', `it ran longer than ${seconds} s and was ended`),
      settings.timeoutMs,
    );
    try {
      return await new Promise((resolve, reject) => {
        this.#pending = { settings, resolve, reject, events: 0 };
        this.#pipe.write(frame);
      });
    } finally {
      this.#pending = undefined;
      clearTimeout(timer);
    }
  }

  /** Ends the process and its children. */
  end(): void {
    this.#kill('ended', 'it was ended');
  }

  #read(part: Buffer): void {
    try {
      for (const message of this.#reader.read(part)) this.#take(message);
    } catch (error) {
      this.#fail(error as Error);
      this.end();
    }
  }

  #take(message: SaltMap): void {
    const version = textOf(message, 'ready');
    const event = message.get('event');
    const error = mapIn(message, 'error');
    if (version !== undefined) this.#logged?.resolve(version);
    else if (Array.isArray(event)) this.#event(event);
    else if (message.get('stale') === true)
      this.#fail(new StaleProcessError('modules have changed'));
    else if (error !== undefined) this.#fail(raised(error));
    else this.#pending?.resolve(message.get('value') ?? null);
    if (message.get('last') === true) this.end();
  }

  #event([tag, data]: readonly SaltValue[]): void {
    const pending = this.#pending;
    if (pending === undefined || typeof tag !== 'string') return;
    pending.events += 1;
    if (pending.events <= LIMITS.events) pending.settings.onEvent?.(tag, data ?? null);
    else if (pending.events === LIMITS.events + 1) {
      this.#lines.write(`[WARNING] more than ${LIMITS.events} events of one call: left out\n`);
    }
  }

  #fail(error: Error): void {
    this.#pending?.reject(error);
    this.#pending = undefined;
  }

  #kill(code: 'start' | 'late' | 'ended', text: string): void {
    if (!this.#ended) this.#killGroup();
    this.#fail(new PythonCallError(code, text));
    this.#logged?.reject(new PythonCallError('start', text));
    this.#ended = true;
  }

  /** The last output is read, but not for long: another process may keep the pipe open. */
  #exited(how: string): void {
    this.#killGroup();
    const timer = setTimeout(() => this.#end(how), LIMITS.lastWordsMs);
    this.#child.once('close', () => {
      clearTimeout(timer);
      this.#end(how);
    });
  }

  #killGroup(): void {
    const { pid } = this.#child;
    if (pid === undefined) return;
    try {
      process.kill(-pid, 'SIGKILL');
    } catch {
      // The whole group has ended by itself.
    }
  }

  #end(how: string): void {
    this.#lines.end();
    this.#ended = true;
    const last = this.#lastLine === '' ? '' : ` (${this.#lastLine})`;
    this.#logged?.reject(new PythonCallError('start', `${how}${last}`));
    this.#fail(new PythonCallError('ended', `the Python process ${how}`));
  }
}

function howItEnded(code: number | null, signal: NodeJS.Signals | null): string {
  return signal === null ? `ended with code ${code ?? 'unknown'}` : `was ended by ${signal}`;
}

function raised(error: SaltMap): PythonCallError {
  const python = textOf(error, 'type') ?? 'Exception';
  const text = textOf(error, 'text') ?? '';
  if (python === 'UnknownName') return new PythonCallError('unknown', `${text} is not there`);
  if (python === 'MemoryError') {
    return new PythonCallError('raised', 'MemoryError: it needs more memory than it may', python);
  }
  return new PythonCallError('raised', text === '' ? python : text, python);
}
