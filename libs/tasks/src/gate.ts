/** Runs a bounded number of tasks at once; the others wait in line. */
export class Gate {
  readonly #places: number;
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(places: number) {
    this.#places = places;
  }

  /** Tasks under way. */
  get running(): number {
    return this.#running;
  }

  /** Tasks in line. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Runs a task when it is its turn; its result or error is that of the task. */
  async run<T>(task: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#places) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else {
      this.#running += 1;
    }
    try {
      return await task();
    } finally {
      // The next in line, if any, gets the place.
      const next = this.#waiting.shift();
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }
}
