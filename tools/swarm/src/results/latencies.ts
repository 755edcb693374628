/*
 * Buckets: 128 per power of two from 1 µs up, so each is at most 0.8 % wide. 32 powers reach
 * 71 minutes; what is longer counts as that.
 */
const STEPS = 128;
const POWERS = 32;

/** Counts of {@link Latencies}, as they travel between processes. */
export interface LatencyData {
  readonly counts: Uint32Array;
  readonly maxMs: number;
}

/** Durations: bounded memory, exact maximum, percentiles within 0.8 %. */
export class Latencies {
  readonly #counts = new Uint32Array(STEPS * POWERS);
  #total = 0;
  #maxMs = 0;

  /** Counts one duration; negative ones (clocks of two processes) count as 0. */
  add(ms: number): void {
    const micros = Math.max(1, ms * 1000);
    const power = Math.min(POWERS - 1, Math.floor(Math.log2(micros)));
    const step = Math.min(STEPS - 1, Math.floor((micros / 2 ** power - 1) * STEPS));
    const bucket = power * STEPS + step;
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#total += 1;
    if (ms > this.#maxMs) this.#maxMs = ms;
  }

  /** Adds the counts of another process. */
  merge(data: LatencyData): void {
    for (let i = 0; i < this.#counts.length; i += 1) {
      const count = data.counts[i] ?? 0;
      if (count === 0) continue;
      this.#counts[i] = (this.#counts[i] ?? 0) + count;
      this.#total += count;
    }
    this.#maxMs = Math.max(this.#maxMs, data.maxMs);
  }

  get count(): number {
    return this.#total;
  }

  get maxMs(): number {
    return this.#maxMs;
  }

  /** The duration in ms that this part (0 to 1) of all did not exceed; 0 without durations. */
  percentile(part: number): number {
    if (this.#total === 0) return 0;
    let left = Math.max(1, Math.ceil(part * this.#total));
    for (let bucket = 0; bucket < this.#counts.length; bucket += 1) {
      left -= this.#counts[bucket] ?? 0;
      if (left <= 0) return Math.min(this.#maxMs, upperMs(bucket));
    }
    return this.#maxMs;
  }

  data(): LatencyData {
    return { counts: this.#counts.slice(), maxMs: this.#maxMs };
  }
}

function upperMs(bucket: number): number {
  const power = Math.floor(bucket / STEPS);
  return (2 ** power * (1 + ((bucket % STEPS) + 1) / STEPS)) / 1000;
}
