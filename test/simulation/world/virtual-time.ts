import { syncBuiltinESMExports } from 'node:module';
import * as promises from 'node:timers/promises';

interface Entry {
  readonly due: number;
  readonly order: number;
  readonly fire: () => void;
  cancelled: boolean;
  everyMs: number;
}

/** Where virtual time begins, unix ms. */
const EPOCH_MS = Date.UTC(2026, 10, 20, 12);

const real = {
  dateNow: Date.now,
  performanceNow: performance.now.bind(performance),
  setTimeout: globalThis.setTimeout,
  clearTimeout: globalThis.clearTimeout,
  setInterval: globalThis.setInterval,
  clearInterval: globalThis.clearInterval,
  setImmediate: globalThis.setImmediate,
  clearImmediate: globalThis.clearImmediate,
  random: Math.random,
  promiseTimeout: promises.setTimeout,
  promiseImmediate: promises.setImmediate,
};

/** The monotonic clock of the machine, ms: for what a run costs. */
export function realMs(): number {
  return real.performanceNow();
}

/** What the product takes for a timer. */
class Handle {
  readonly entry: Entry;

  constructor(entry: Entry) {
    this.entry = entry;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  hasRef(): boolean {
    return true;
  }

  [Symbol.dispose](): void {
    this.entry.cancelled = true;
  }
}

/**
 * Takes the place of every clock, timer and die of this process, in whole milliseconds, so that the
 * product runs as it is, as fast as it can, and the same way each time. Real input or output must
 * not be waited for meanwhile: only promises and these timers move things on.
 */
export class VirtualTime {
  #nowMs = 0;
  #order = 0;
  #wallShiftMs = 0;
  #fired = 0;
  readonly #heap: Entry[] = [];
  readonly #random: () => number;

  /** `random`: what `Math.random` gives meanwhile. */
  constructor(random: () => number) {
    this.#random = random;
  }

  /** Ms since the run began; never goes back. */
  get now(): number {
    return this.#nowMs;
  }

  /** Unix ms, as the machines' clocks tell; may be stepped. */
  get wall(): number {
    return EPOCH_MS + this.#nowMs + this.#wallShiftMs;
  }

  /** Timers that came due so far. */
  get fired(): number {
    return this.#fired;
  }

  /** Steps the wall clock of all machines. */
  stepWall(byMs: number): void {
    this.#wallShiftMs += byMs;
  }

  /** Calls back after so long; the way to cancel it. */
  after(delayMs: number, fire: () => void): () => void {
    const entry = this.#add(Math.max(0, delayMs), fire, 0);
    return () => {
      entry.cancelled = true;
    };
  }

  /** Resolves after so long. */
  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => void this.after(ms, resolve));
  }

  /** Runs until this time, or until `isOver`; what is due then is left. */
  run(untilMs: number, isOver: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      // Between two timers everything that was promised is settled: that is what a real turn does.
      const turn = (): void => {
        try {
          const next = this.#next();
          if (next === undefined || next.due > untilMs || isOver()) return resolve();
          this.#pop();
          this.#nowMs = Math.max(this.#nowMs, next.due);
          this.#fired += 1;
          if (next.everyMs > 0) this.#repeat(next);
          next.fire();
        } catch (error) {
          return reject(error instanceof Error ? error : new Error(String(error)));
        }
        real.setImmediate(turn);
      };
      real.setImmediate(turn);
    });
  }

  /** Puts itself in the place of the clocks; dispose to take it away again. */
  install(): Disposable {
    const set = (fire: (...args: unknown[]) => void, ms = 0, ...args: unknown[]): Handle =>
      new Handle(this.#add(Math.max(1, Math.trunc(ms) || 1), () => fire(...args), 0));
    const every = (fire: (...args: unknown[]) => void, ms = 0, ...args: unknown[]): Handle => {
      const period = Math.max(1, Math.trunc(ms) || 1);
      return new Handle(this.#add(period, () => fire(...args), period));
    };
    const soon = (fire: (...args: unknown[]) => void, ...args: unknown[]): Handle =>
      new Handle(this.#add(0, () => fire(...args), 0));
    const clear = (handle: unknown): void => {
      if (handle instanceof Handle) handle.entry.cancelled = true;
    };
    Date.now = () => this.wall;
    performance.now = () => this.#nowMs;
    Math.random = this.#random;
    Object.assign(globalThis, {
      setTimeout: set,
      setInterval: every,
      setImmediate: soon,
      clearTimeout: clear,
      clearInterval: clear,
      clearImmediate: clear,
    });
    this.#installPromises();
    return { [Symbol.dispose]: () => uninstall() };
  }

  #installPromises(): void {
    const timeout = (ms = 0, value?: unknown, options: { signal?: AbortSignal } = {}) =>
      new Promise((resolve, reject) => {
        const { signal } = options;
        if (signal?.aborted === true) return reject(signal.reason as Error);
        const onAbort = (): void => {
          cancel();
          reject(signal?.reason as Error);
        };
        const cancel = this.after(Math.max(1, Math.trunc(ms)), () => {
          signal?.removeEventListener('abort', onAbort);
          resolve(value);
        });
        signal?.addEventListener('abort', onAbort);
      });
    const immediate = (value?: unknown) =>
      new Promise((resolve) => void this.after(0, () => resolve(value)));
    replacePromises(timeout, immediate);
  }

  #add(delayMs: number, fire: () => void, everyMs: number): Entry {
    const due = this.#nowMs + delayMs;
    const entry = { due, order: this.#order++, fire, cancelled: false, everyMs };
    this.#push(entry);
    return entry;
  }

  /** The same entry again, so that its handle still clears it. */
  #repeat(entry: Entry): void {
    Object.assign(entry, { due: this.#nowMs + entry.everyMs, order: this.#order++ });
    this.#push(entry);
  }

  #next(): Entry | undefined {
    while (this.#heap[0]?.cancelled === true) this.#pop();
    return this.#heap[0];
  }

  #push(entry: Entry): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(entry);
    while (at > 0) {
      const up = (at - 1) >> 1;
      const parent = heap[up];
      if (parent === undefined || !isBefore(entry, parent)) break;
      heap[at] = parent;
      at = up;
    }
    heap[at] = entry;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let at = 0;
    for (;;) {
      const left = heap[2 * at + 1];
      const right = heap[2 * at + 2];
      const isRight = right !== undefined && left !== undefined && isBefore(right, left);
      const child = isRight ? right : left;
      if (child === undefined || !isBefore(child, last)) break;
      heap[at] = child;
      at = 2 * at + (isRight ? 2 : 1);
    }
    heap[at] = last;
  }
}

function isBefore(one: Entry, other: Entry): boolean {
  return one.due < other.due || (one.due === other.due && one.order < other.order);
}

function uninstall(): void {
  Date.now = real.dateNow;
  performance.now = real.performanceNow;
  Math.random = real.random;
  const { setTimeout, setInterval, setImmediate, clearTimeout, clearInterval } = real;
  const { clearImmediate } = real;
  const timers = { setTimeout, setInterval, setImmediate };
  Object.assign(globalThis, timers, { clearTimeout, clearInterval, clearImmediate });
  replacePromises(real.promiseTimeout, real.promiseImmediate);
}

/** `node:timers/promises` is imported by name: its exports are live once they are synchronised. */
function replacePromises(timeout: unknown, immediate: unknown): void {
  Object.assign(promisesModule, { setTimeout: timeout, setImmediate: immediate });
  syncBuiltinESMExports();
}

const promisesModule = process.getBuiltinModule('node:timers/promises') as unknown as Record<
  string,
  unknown
>;
