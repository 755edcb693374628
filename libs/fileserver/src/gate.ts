/** Lets a bounded number of tasks run at once; the others wait in line. */
export class Gate {
  readonly #places: number;
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(places: number) {
    this.#places = places;
  }

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
