import { createHash } from 'node:crypto';
import type { VirtualTime } from './virtual-time.ts';

/** Lines kept for a failure; the hash knows all. */
const MAX_KEPT = 20_000;

/** What happened in a run, and the hash of all of it: the same seed gives the same. */
export class Trace {
  readonly #time: VirtualTime;
  readonly #hash = createHash('sha256');
  readonly #lines: string[] = [];

  constructor(time: VirtualTime) {
    this.#time = time;
  }

  /** Notes what happened; no ids that are drawn at random, nothing encrypted. */
  note(who: string, what: string): void {
    const line = `${(this.#time.now / 1000).toFixed(3).padStart(9)} ${who.padEnd(10)} ${what}`;
    this.#hash.update(`${line}\n`);
    this.#keep(line);
  }

  /** Shown, but not part of the hash: texts of errors may name what was drawn at random. */
  aside(who: string, what: string): void {
    this.#keep(`${(this.#time.now / 1000).toFixed(3).padStart(9)} ${who.padEnd(10)} # ${what}`);
  }

  get lines(): readonly string[] {
    return this.#lines;
  }

  digest(): string {
    return this.#hash.copy().digest('hex').slice(0, 16);
  }

  #keep(line: string): void {
    if (this.#lines.length < MAX_KEPT) this.#lines.push(line);
  }
}
