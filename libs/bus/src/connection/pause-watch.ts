/** Settings for noticing a pause of this process. */
export interface PauseWatchOptions {
  /** How often it reads the clock, ms. */
  readonly everyMs: number;
  /** A longer time between two reads of the clock was a pause, ms; a busy loop causes less. */
  readonly gapMs: number;
  readonly onBeat?: () => void;
  /** Called before the first beat after a pause. */
  readonly onPause?: () => void;
}

/**
 * A timer that notices when this process did not run: stopped by a signal, stopped with its
 * machine, or starved of its processor. Clocks run meanwhile, so silence and age mean less.
 */
export class PauseWatch {
  readonly #options: PauseWatchOptions;
  readonly #timer: NodeJS.Timeout;
  #beatAt = performance.now();
  #endedAt = -Infinity;
  #lastedMs = 0;

  constructor(options: PauseWatchOptions) {
    this.#options = options;
    this.#timer = setInterval(() => {
      this.look();
      this.#beatAt = performance.now();
      options.onBeat?.();
    }, options.everyMs);
    this.#timer.unref();
  }

  /** Notices a pause that has just ended. A message may be read before the timer fires. */
  look(): void {
    const now = performance.now();
    const gapMs = now - this.#beatAt;
    if (gapMs <= this.#options.gapMs) return;
    this.#beatAt = now;
    this.#endedAt = now;
    this.#lastedMs = gapMs;
    this.#options.onPause?.();
  }

  /** How long the last pause was if it ended within so many ms, else 0; in ms. */
  lastedMs(withinMs: number): number {
    this.look();
    return performance.now() - this.#endedAt < withinMs ? this.#lastedMs : 0;
  }

  close(): void {
    clearInterval(this.#timer);
  }
}
