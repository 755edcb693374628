/**
 * One minion that is restarted loses what was sent meanwhile from a stock master too; only when
 * many come at once was it us, another publisher or the network. But one syndic is a fleet.
 */
const MIN_BURST = { minions: 3, syndics: 1 } as const;
const MIN_SHARE = 0.1;
const WITHIN_MS = 2_000;

/** Tells when subscribers connect in a burst. */
export class Burst {
  readonly #least: number;
  #since = 0;
  #count = 0;

  /** `syndics`: with `order_masters`, any of a few peers may stand for all minions of a master. */
  constructor(of: keyof typeof MIN_BURST) {
    this.#least = MIN_BURST[of];
  }

  /** Notes one new connection of so many; true once per burst. */
  connected(nowMs: number, peers: number): boolean {
    if (nowMs - this.#since > WITHIN_MS) {
      this.#since = nowMs;
      this.#count = 0;
    }
    this.#count += 1;
    const enough = Math.max(this.#least, Math.ceil(peers * MIN_SHARE));
    return this.#count === enough;
  }
}
