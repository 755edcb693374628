const LOOK_MS = 500;
/** A loop that is this much late was busy, not stopped, ms. */
const MIN_PAUSE_MS = 500;
/** What lay in the sockets of a process that goes on again is read within this, ms. */
const READ_WITHIN_MS = 1_000;

/** Notices when this process could not run for a while: stopped, or starved of its processor. */
export class Pauses {
  #lookedAt = performance.now();
  #endedAt = -Infinity;
  #ms = 0;

  constructor() {
    setInterval(() => this.#look(), LOOK_MS).unref();
  }

  /** How long what is read now may have lain in its socket, ms. */
  get lainMs(): number {
    // What comes first after a pause may be read before the timer has told of it.
    this.#look();
    return performance.now() - this.#endedAt < READ_WITHIN_MS ? this.#ms : 0;
  }

  #look(): void {
    const now = performance.now();
    const lateMs = now - this.#lookedAt - LOOK_MS;
    this.#lookedAt = now;
    if (lateMs < MIN_PAUSE_MS) return;
    this.#endedAt = now;
    this.#ms = lateMs + LOOK_MS;
  }
}
