import { JidMaker } from '@brine/job';

const SECOND_US = 1_000_000;
const MICRO_DIGITS = 6;

/**
 * Job ids of one of several processes, which share the microseconds, so that ids are unique. The
 * date is computed once a second, since a storm makes ten thousand ids in one.
 */
export class OwnJids {
  readonly #part: number;
  readonly #parts: number;
  readonly #maker = new JidMaker();
  #lastSlot = 0;
  #second = -1;
  #prefix = '';

  constructor(part: number, parts: number) {
    this.#part = part;
    this.#parts = parts;
  }

  /** The next id; @param nowMs unix time in ms. */
  next(nowMs: number): string {
    const slot = Math.max(Math.floor((nowMs * 1000) / this.#parts), this.#lastSlot + 1);
    this.#lastSlot = slot;
    const us = slot * this.#parts + this.#part;
    const second = Math.floor(us / SECOND_US);
    if (second !== this.#second) {
      this.#second = second;
      this.#prefix = this.#maker.next(second * 1000).slice(0, -MICRO_DIGITS);
    }
    return this.#prefix + String(us - second * SECOND_US).padStart(MICRO_DIGITS, '0');
  }
}
