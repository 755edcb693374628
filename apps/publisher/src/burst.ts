// One minion that is restarted loses what was sent meanwhile from a stock master too; only when
// many come at once was it us, another publisher or the network.
const MIN_BURST = 3;
const MIN_SHARE = 0.1;
const WITHIN_MS = 2_000;

/** Tells when subscribers connect in a burst. */
export class Burst {
  #since = 0;
  #count = 0;

  /** Notes one new connection of so many; true once per burst. */
  connected(nowMs: number, peers: number): boolean {
    if (nowMs - this.#since > WITHIN_MS) {
      this.#since = nowMs;
      this.#count = 0;
    }
    this.#count += 1;
    const enough = Math.max(MIN_BURST, Math.ceil(peers * MIN_SHARE));
    return this.#count === enough;
  }
}
