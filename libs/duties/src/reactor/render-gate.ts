/** A file that took all the time that there is rests for so long, ms. */
const REST_MS = 60_000;
/** Files at rest that are remembered. */
const RESTING_MAX = 1_000;

/** A file took all the time that a render may take. */
export class TooSlowError extends Error {
  override readonly name = 'TooSlowError';
}

/**
 * Renders as many files at once as there are threads. The time of a render counts from its begin,
 * so files that wait behind a slow one are not given up for it. A file that never ends holds the
 * threads once in a while, and not for each of its events.
 */
export class RenderGate {
  readonly #threads: number;
  readonly #now: () => number;
  readonly #resting = new Map<string, number>();
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  /** @param threads files that render at once */
  constructor(threads: number, now: () => number = () => performance.now()) {
    this.#threads = threads;
    this.#now = now;
  }

  /** @throws TooSlowError for a file at rest, and what `render` throws */
  async through<T>(path: string, render: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#threads) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else this.#running += 1;
    try {
      this.#mayRender(path);
      return await render();
    } catch (error) {
      if (error instanceof TooSlowError) this.#rest(path);
      throw error;
    } finally {
      const next = this.#waiting.shift();
      // The place goes on to the next one.
      if (next === undefined) this.#running -= 1;
      else next();
    }
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
