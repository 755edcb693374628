interface Passed {
  atMs: number;
  since: number;
}

/**
 * Keeps a log readable while something fails again and again. The first event of a key passes, then
 * one in each period.
 */
export class OncePer {
  readonly #everyMs: number;
  readonly #keysMax: number;
  readonly #now: () => number;
  readonly #passed = new Map<string, Passed>();

  /**
   * @param everyMs Infinity: once, until {@link clear}
   * @param options more keys than `keysMax`, 100, do not pass
   */
  constructor(
    everyMs: number,
    { keysMax = 100, now = () => performance.now() }: OncePerOptions = {},
  ) {
    this.#everyMs = everyMs;
    this.#keysMax = keysMax;
    this.#now = now;
  }

  /** How many events of the key there were since the last one that passed; 0 if none passes now. */
  pass(key = ''): number {
    const last = this.#passed.get(key);
    const now = this.#now();
    if (last !== undefined && now - last.atMs < this.#everyMs) {
      last.since += 1;
      return 0;
    }
    if (last === undefined && this.#passed.size >= this.#keysMax) return 0;
    this.#passed.set(key, { atMs: now, since: 0 });
    return (last?.since ?? 0) + 1;
  }

  /** It works again: the next event of each key passes. */
  clear(): void {
    this.#passed.clear();
  }
}

interface OncePerOptions {
  readonly keysMax?: number;
  readonly now?: () => number;
}
