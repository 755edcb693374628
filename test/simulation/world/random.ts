/** Reproducible chance (sfc32): the same seed gives the same numbers on every machine. */
export class Random {
  #a: number;
  #b: number;
  #c: number;
  #d: number;

  constructor(seed: number) {
    this.#a = 0x9e3779b9 ^ seed;
    this.#b = 0x243f6a88 + seed;
    this.#c = 0xb7e15162 ^ (seed >>> 3);
    this.#d = 1;
    // The first numbers of like seeds are alike.
    for (let i = 0; i < 15; i += 1) this.next();
  }

  /** From 0 up to, not including, 1. */
  next(): number {
    const t = (((this.#a + this.#b) | 0) + this.#d) | 0;
    this.#d = (this.#d + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + t;
    return (t >>> 0) / 4_294_967_296;
  }

  /** A whole number from `low` to `high`, both included. */
  between(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1));
  }

  /** True in this share of the cases. */
  chance(share: number): boolean {
    return this.next() < share;
  }

  /** One of these. */
  pick<T>(from: readonly T[]): T {
    const one = from[Math.floor(this.next() * from.length)];
    if (one === undefined) throw new RangeError('nothing to pick from');
    return one;
  }

  /** A generator of its own: what draws from it does not move this one's later numbers. */
  fork(): Random {
    return new Random(Math.floor(this.next() * 4_294_967_296));
  }
}
