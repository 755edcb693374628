/** When an engine that has ended is started again. Times in ms. */
export interface RestartTimes {
  /** The first wait; each one after it is twice as long. */
  readonly firstMs: number;
  readonly longestMs: number;
  /** An engine that ran so long begins with the first wait again. */
  readonly steadyMs: number;
  /** So many ends in a row, and it is given up. */
  readonly limit: number;
  /** An engine that was given up is tried again after so long. */
  readonly givenUpMs: number;
}

const TIMES: RestartTimes = {
  firstMs: 1_000,
  longestMs: 60_000,
  steadyMs: 60_000,
  limit: 10,
  givenUpMs: 10 * 60_000,
};

/** Says how long an engine waits before it is started again. */
export class RestartPlan {
  readonly #times: RestartTimes;
  #ends = 0;

  constructor(times: Partial<RestartTimes> = {}) {
    this.#times = { ...TIMES, ...times };
  }

  /** Whether it has ended so often that it is only tried now and then. */
  get isGivenUp(): boolean {
    return this.#ends >= this.#times.limit;
  }

  /** @param livedMs how long the process that has just ended had lived */
  next(livedMs: number): number {
    const { firstMs, longestMs, steadyMs, givenUpMs } = this.#times;
    if (livedMs >= steadyMs) this.#ends = 0;
    this.#ends += 1;
    if (this.isGivenUp) return givenUpMs;
    return Math.min(longestMs, firstMs * 2 ** (this.#ends - 1));
  }
}
