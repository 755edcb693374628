import { Gate } from '@brine/tasks';

/** Rest of a file that exceeded the time limit, ms. */
const REST_MS = 60_000;
/** Limit of resting files that are remembered. */
const RESTING_MAX = 1_000;

/** A file exceeded the time limit of a render. */
export class TooSlowError extends Error {
  override readonly name = 'TooSlowError';
}

/**
 * Renders as many files at once as there are threads. The time of a render counts from its start,
 * so a slow file does not fail those behind it. A file that never ends blocks a thread only once
 * per rest, and not for each event.
 */
export class RenderGate {
  readonly #gate: Gate;
  readonly #now: () => number;
  readonly #resting = new Map<string, number>();

  /** @param threads limit of concurrent renders */
  constructor(threads: number, now: () => number = () => performance.now()) {
    this.#gate = new Gate(threads);
    this.#now = now;
  }

  /** @throws TooSlowError for a resting file, and the errors of `render` */
  through<T>(path: string, render: () => Promise<T>): Promise<T> {
    return this.#gate.run(async () => {
      try {
        this.#mayRender(path);
        return await render();
      } catch (error) {
        if (error instanceof TooSlowError) this.#rest(path);
        throw error;
      }
    });
  }

  #mayRender(path: string): void {
    const until = this.#resting.get(path);
    if (until === undefined) return;
    const leftMs = until - this.#now();
    if (leftMs <= 0) {
      this.#resting.delete(path);
      return;
    }
    const seconds = Math.ceil(leftMs / 1_000);
    throw new Error(`it took too long just before; it is rendered again in ${seconds} s`);
  }

  #rest(path: string): void {
    const [oldest] = this.#resting.keys();
    if (this.#resting.size >= RESTING_MAX && oldest !== undefined) this.#resting.delete(oldest);
    this.#resting.set(path, this.#now() + REST_MS);
  }
}
