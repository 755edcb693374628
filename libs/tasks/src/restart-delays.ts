/**
 * Delays before a program is started again: one of a list after each end in a row. The last one
 * repeats, so a program is never given up for good.
 */
export class RestartDelays {
  readonly #delaysMs: readonly number[];
  readonly #steadyMs: number;
  #ends = 0;

  /** @param steadyMs a program that ran so long begins with the first delay again */
  constructor(delaysMs: readonly number[], steadyMs: number) {
    this.#delaysMs = delaysMs;
    this.#steadyMs = steadyMs;
  }

  /** Whether the list is used up: from now on the last delay repeats. */
  get isLast(): boolean {
    return this.#ends >= this.#delaysMs.length;
  }

  /** @param livedMs how long the program that just ended ran */
  next(livedMs: number): number {
    if (livedMs >= this.#steadyMs) this.#ends = 0;
    this.#ends += 1;
    return this.#delaysMs[Math.min(this.#ends, this.#delaysMs.length) - 1] ?? 0;
  }
}
