import type { Bus } from './connect.ts';
import { PauseWatch, type PauseWatchOptions } from './pause-watch.ts';

/** The settings for judging the silence of others. */
export interface ConnectionWatchOptions extends Pick<
  PauseWatchOptions,
  'everyMs' | 'gapMs' | 'onBeat'
> {
  /** Silence does not count for this long after messages arrive again, ms. */
  readonly graceMs: number;
  /** Called when messages arrive again: from now on all others count as alive. */
  readonly onAgain: (now: number) => void;
}

/**
 * Decides whether a missing message means that its sender is gone. It does not while the connection
 * is down, nor for a while after this process was paused or cut off.
 */
export class ConnectionWatch {
  readonly #bus: Bus;
  readonly #options: ConnectionWatchOptions;
  readonly #pauses: PauseWatch;
  readonly #stopListening: () => void;
  #graceUntil = 0;

  constructor(bus: Bus, options: ConnectionWatchOptions) {
    this.#bus = bus;
    this.#options = options;
    this.#stopListening = bus.onReconnect(() => this.#again());
    const { everyMs, gapMs, onBeat } = options;
    const beats = onBeat === undefined ? {} : { onBeat };
    this.#pauses = new PauseWatch({ everyMs, gapMs, ...beats, onPause: () => this.#again() });
  }

  /** True if a missing message means that its sender is gone. */
  silenceCounts(now: number): boolean {
    this.#pauses.look();
    return this.#bus.status === 'connected' && now > this.#graceUntil;
  }

  close(): void {
    this.#pauses.close();
    this.#stopListening();
  }

  #again(): void {
    const now = performance.now();
    this.#graceUntil = now + this.#options.graceMs;
    this.#options.onAgain(now);
  }
}
