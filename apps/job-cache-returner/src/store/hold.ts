import { setTimeout as sleep } from 'node:timers/promises';

/** First and greatest wait between two tries, in ms; each is drawn from half of it to all of it. */
const WAIT_MS = { first: 100, most: 2_000 } as const;

/** Errors told of one outage. */
const MAX_TOLD = 8;

/** What a hold tells of outages. */
export interface HoldPorts {
  /** Called when an outage begins, and once for each further error of it, up to a few. */
  readonly onOutage: (error: unknown) => void;
  /** Called when it is over. */
  readonly onRecovered: (seconds: number) => void;
}

/**
 * Keeps what is in hand until PostgreSQL (or the object store) takes it: nothing is acknowledged
 * before, so whatever happens to this process the stream delivers it again.
 */
export class Hold {
  readonly #ports: HoldPorts;
  readonly #signal: AbortSignal;
  /** Pieces of work that fail now: an outage ends with the last of them. */
  #failing = 0;
  #sinceMs = 0;
  /** What was told of this outage: several errors take turns while connections are tried. */
  readonly #told = new Set<string>();

  constructor(ports: HoldPorts, signal: AbortSignal) {
    this.#ports = ports;
    this.#signal = signal;
  }

  /** True while something can not be stored. */
  get holding(): boolean {
    return this.#failing > 0;
  }

  /**
   * Does the work, again and again while it fails for an outage; undefined once we are to stop.
   * Throws what is no outage.
   */
  async until<T extends object>(
    work: () => Promise<T>,
    isOutage: (error: unknown) => boolean = isRetryable,
  ): Promise<T | undefined> {
    let failing = false;
    for (let wait: number = WAIT_MS.first; ; wait = Math.min(wait * 2, WAIT_MS.most)) {
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
      const drawn = wait * (0.5 + Math.random() / 2);
      await sleep(drawn, undefined, { signal: this.#signal }).catch(() => undefined); // Seen below.
      if (this.#signal.aborted) return undefined;
    }
  }

  #outage(error: unknown, begins: boolean): void {
    if (this.#failing === 0) {
      this.#sinceMs = performance.now();
      this.#told.clear();
    }
    if (begins) this.#failing += 1;
    const text = error instanceof Error ? error.message : '';
    if (this.#told.has(text) || this.#told.size >= MAX_TOLD) return;
    this.#told.add(text);
    this.#ports.onOutage(error);
  }

  #recovered(): void {
    this.#failing -= 1;
    if (this.#failing > 0) return;
    this.#ports.onRecovered((performance.now() - this.#sinceMs) / 1000);
  }
}

/** Errors of our edges say whether the same may succeed later. */
function isRetryable(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'retryable' in error
    ? error.retryable === true
    : false;
}
