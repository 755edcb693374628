import type { Bus } from './connect.ts';
import { PauseWatch, type PauseWatchOptions } from './pause-watch.ts';

/** How a service judges the silence of others. */
export interface ConnectionWatchOptions extends Pick<
  PauseWatchOptions,
  'everyMs' | 'gapMs' | 'onBeat'
> {
  /** For so long after it hears again, silence does not count, ms. */
  readonly graceMs: number;
  /** Called when it hears again: all others count as heard now. */
  readonly onAgain: (now: number) => void;
}

/**
 * Whether a missing message means that its sender is gone. It does not while the connection is
 * away, nor for a while after this process was paused or cut off.
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

  /** Whether a missing message means that its sender is gone. */
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
