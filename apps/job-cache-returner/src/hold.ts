import { setTimeout as sleep } from 'node:timers/promises';

/** First and greatest wait between two tries, in ms; each is drawn from half of it to all of it. */
const WAIT_MS = { first: 100, most: 5_000 } as const;

/** What a hold tells of outages. */
export interface HoldPorts {
  /** Called when an outage begins, and again each time its error is another. */
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
  #outageSince: number | undefined;
  #lastText = '';

  constructor(ports: HoldPorts, signal: AbortSignal) {
    this.#ports = ports;
    this.#signal = signal;
  }

  /** True while something can not be stored. */
  get holding(): boolean {
    return this.#outageSince !== undefined;
  }

  /**
   * Does the work, again and again while it fails for an outage; undefined once we are to stop.
   * Throws what is no outage.
   */
  async until<T extends object>(work: () => Promise<T>): Promise<T | undefined> {
    for (let wait: number = WAIT_MS.first; ; wait = Math.min(wait * 2, WAIT_MS.most)) {
      try {
        const result = await work();
        this.#recovered();
        return result;
      } catch (error) {
        if (!isOutage(error)) throw error;
        this.#outage(error);
      }
      if (this.#signal.aborted) return undefined;
      const drawn = wait * (0.5 + Math.random() / 2);
      await sleep(drawn, undefined, { signal: this.#signal }).catch(() => undefined); // Seen below.
      if (this.#signal.aborted) return undefined;
    }
  }

  #outage(error: unknown): void {
    const text = error instanceof Error ? error.message : '';
    if (this.#outageSince !== undefined && text === this.#lastText) return;
    this.#outageSince ??= Date.now();
    this.#lastText = text;
    this.#ports.onOutage(error);
  }

  #recovered(): void {
    if (this.#outageSince === undefined) return;
    const seconds = (Date.now() - this.#outageSince) / 1000;
    this.#outageSince = undefined;
    this.#ports.onRecovered(seconds);
  }
}

/**
 * Errors of our edges say whether the same may succeed later. A refused statement (a fault of ours,
 * SALT_JOBCACHE_QUERY) is waited out too: dropping what is in hand would mend nothing.
 */
function isOutage(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  if ('retryable' in error && error.retryable === true) return true;
  return 'code' in error && error.code === 'SALT_JOBCACHE_QUERY';
}
