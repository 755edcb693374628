import { setTimeout as sleep } from 'node:timers/promises';
import type { LineLevel } from '@brine/tasks';
import { backoffMs } from '@brine/tasks';
import type { SaltMap, SaltValue } from '@brine/wire';
import { PythonCallError } from './errors.ts';
import { type CallSettings, PythonProcess, StaleProcessError } from './python-process.ts';
import { LIMITS, type PythonSettings, type PythonUse, USES } from './settings.ts';

/** How often a call is repeated because files of modules changed right before it. */
const STALE_MAX = 3;

/** Makes calls of modules in Python. */
export interface PythonCalls {
  /**
   * Makes a call; `op` is an operation of site_salt.py for the use.
   * @throws PythonCallError
   */
  call(
    use: PythonUse,
    op: string,
    given: SaltMap,
    onEvent?: (tag: string, data: SaltValue) => void,
  ): Promise<SaltValue>;
}

/** Writes a line to the master's log. */
type LogLine = (level: LineLevel, text: string) => void;

/** Modules in Python of the site's Salt. A process starts when it is first needed. */
export class PythonHost implements PythonCalls {
  readonly #settings: PythonSettings;
  readonly #log: LogLine;
  readonly #queues = new Map<PythonUse, UseQueue>();

  constructor(settings: PythonSettings, log: LogLine) {
    this.#settings = settings;
    this.#log = log;
  }

  call(
    use: PythonUse,
    op: string,
    given: SaltMap,
    onEvent?: (tag: string, data: SaltValue) => void,
  ): Promise<SaltValue> {
    let queue = this.#queues.get(use);
    if (queue === undefined) {
      queue = new UseQueue(this.#settings, use, this.#log);
      this.#queues.set(use, queue);
    }
    return queue.call(op, given, onEvent);
  }

  /** Ends all processes; running calls fail. */
  close(): void {
    for (const queue of this.#queues.values()) queue.close();
  }
}

interface Waiting {
  readonly op: string;
  readonly given: SaltMap;
  readonly onEvent: CallSettings['onEvent'];
  readonly resolve: (value: SaltValue) => void;
  readonly reject: (error: Error) => void;
  readonly timer: NodeJS.Timeout;
}

/** A slot for a process. */
interface Place {
  process: PythonProcess | undefined;
  isBusy: boolean;
  /** Consecutive processes that ended by themselves or did not start. */
  failures: number;
  idle: NodeJS.Timeout | undefined;
}

/** The processes of one use, and the calls that wait for them. */
class UseQueue {
  readonly #settings: PythonSettings;
  readonly #use: PythonUse;
  readonly #log: LogLine;
  readonly #places: readonly Place[];
  #waiting: Waiting[] = [];
  #closed = false;

  constructor(settings: PythonSettings, use: PythonUse, log: LogLine) {
    this.#settings = settings;
    this.#use = use;
    this.#log = (level, text) => log(level, `python ${use}: ${text}`);
    this.#places = Array.from({ length: USES[use].processes }, () => ({
      process: undefined,
      isBusy: false,
      failures: 0,
      idle: undefined,
    }));
  }

  call(op: string, given: SaltMap, onEvent: CallSettings['onEvent']): Promise<SaltValue> {
    if (this.#closed) return Promise.reject(new PythonCallError('ended', 'the master stops'));
    if (this.#waiting.length >= LIMITS.waiting) {
      return Promise.reject(new PythonCallError('busy', `too many ${this.#use} calls wait`));
    }
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting = this.#waiting.filter((one) => one !== waiting);
        const seconds = LIMITS.waitMs / 1000;
        reject(new PythonCallError('busy', `no Python process was free for ${seconds} s`));
      }, LIMITS.waitMs);
      const waiting = { op, given, onEvent, resolve, reject, timer };
      this.#waiting.push(waiting);
      this.#serve();
    });
  }

  close(): void {
    this.#closed = true;
    for (const { timer, reject } of this.#waiting) {
      clearTimeout(timer);
      reject(new PythonCallError('ended', 'the master stops'));
    }
    this.#waiting = [];
    for (const place of this.#places) {
      clearTimeout(place.idle);
      place.process?.end();
    }
  }

  /** Gives waiting calls to free slots, those with a process first. */
  #serve(): void {
    for (;;) {
      const free = this.#places.filter(({ isBusy }) => !isBusy);
      const place = free.find(({ process }) => process?.ended === false) ?? free[0];
      if (place === undefined) return;
      const next = this.#waiting.shift();
      if (next === undefined) return;
      clearTimeout(next.timer);
      place.isBusy = true;
      clearTimeout(place.idle);
      void this.#occupy(place, next);
    }
  }

  async #occupy(place: Place, next: Waiting): Promise<void> {
    try {
      next.resolve(await this.#at(place, next));
    } catch (error) {
      next.reject(error as Error);
    }
    place.isBusy = false;
    place.idle = setTimeout(() => place.process?.end(), LIMITS.idleMs).unref();
    this.#serve();
  }

  async #at(place: Place, { op, given, onEvent }: Waiting): Promise<SaltValue> {
    const timeoutMs = USES[this.#use].callMs ?? this.#settings.runnerMs;
    for (let tries = 1; ; tries += 1) {
      const process = await this.#processOf(place);
      try {
        const value = await process.call(op, given, { timeoutMs, onEvent });
        place.failures = 0;
        return value;
      } catch (error) {
        if (process.ended) place.failures += 1;
        if (!(error instanceof StaleProcessError)) throw error;
        place.failures = 0;
        process.end();
        if (tries >= STALE_MAX) throw new PythonCallError('busy', 'modules change all the time');
      }
    }
  }

  async #processOf(place: Place): Promise<PythonProcess> {
    if (place.process?.ended === false) return place.process;
    await sleep(backoffMs(LIMITS.backoff, place.failures));
    if (this.#closed) throw new PythonCallError('ended', 'the master stops');
    try {
      place.process = await PythonProcess.start(this.#settings, this.#use, this.#log);
    } catch (error) {
      place.failures += 1;
      const text = `brine.python: ${this.#settings.python} ${(error as Error).message}`;
      this.#log('error', text);
      throw new PythonCallError('start', text);
    }
    // The host was closed meanwhile.
    if (this.#closed) place.process.end();
    return place.process;
  }
}
