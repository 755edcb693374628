import { backoffMs, isRetryable, OncePer, sleepUnless } from '@brine/tasks';

/** Waits between tries, each a random share of at least half. */
const WAITS = { firstMs: 100, longestMs: 2_000 } as const;

/** Errors of one outage that are reported. */
const REPORTED_MAX = 8;

/** The reports of outages. */
export interface OutagePorts {
  /** Called when an outage begins, and once for each further error of it, up to a few. */
  readonly onOutage: (error: unknown) => void;
  /** Called when it is over. */
  readonly onRecovered: (seconds: number) => void;
}

/**
 * Tries work again until PostgreSQL (or the object store) takes it. Nothing is acknowledged before
 * that, so the stream delivers it again if this process dies.
 */
export class OutageRetry {
  readonly #ports: OutagePorts;
  readonly #signal: AbortSignal;
  /** Pieces of work that wait for their next try: an outage ends with the last of them. */
  #failing = 0;
  #sinceMs = 0;
  /** Errors that were reported of this outage, since different errors alternate. */
  readonly #reported = new OncePer(Infinity, { keysMax: REPORTED_MAX });

  constructor(ports: OutagePorts, signal: AbortSignal) {
    this.#ports = ports;
    this.#signal = signal;
  }

  /** True during an outage. */
  get waiting(): boolean {
    return this.#failing > 0;
  }

  /**
   * Does the work, and repeats it during an outage. Resolves with undefined once this process is to
   * stop. Throws an error that is no outage.
   */
  async retry<T extends object>(
    work: () => Promise<T>,
    isOutage: (error: unknown) => boolean = isRetryable,
  ): Promise<T | undefined> {
    let failing = false;
    for (let failures = 1; ; failures += 1) {
      try {
        const result = await work();
        if (failing) this.#recovered();
        return result;
      } catch (error) {
        if (failing && !isOutage(error)) this.#failing -= 1;
        if (!isOutage(error)) throw error;
        this.#outage(error, !failing);
        failing = true;
      }
      if (this.#signal.aborted) return undefined;
      const drawn = backoffMs(WAITS, failures) * (0.5 + Math.random() / 2);
      await sleepUnless(drawn, this.#signal);
      if (this.#signal.aborted) return undefined;
    }
  }

  #outage(error: unknown, begins: boolean): void {
    if (this.#failing === 0) {
      this.#sinceMs = performance.now();
      this.#reported.clear();
    }
    if (begins) this.#failing += 1;
    const text = error instanceof Error ? error.message : '';
    if (this.#reported.pass(text) > 0) this.#ports.onOutage(error);
  }

  #recovered(): void {
    this.#failing -= 1;
    if (this.#failing > 0) return;
    this.#ports.onRecovered((performance.now() - this.#sinceMs) / 1000);
  }
}
