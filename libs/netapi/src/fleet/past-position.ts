/** A position, and when it was reached, ms. */
interface Reached {
  readonly position: string;
  readonly atMs: number;
}

const SPACING_MS = 500;

/**
 * A position of the events some time ago. Buckets come on other ways than events: a page may lack
 * what happened just before. A stream that resumes a little earlier gives it, and some rows twice.
 */
export class PastPosition {
  readonly #ageMs: number;
  /** The oldest first; the second one is younger than the age. */
  #reached: Reached[] = [];

  constructor(ageMs: number) {
    this.#ageMs = ageMs;
  }

  /** Events up to here were taken. */
  note(position: string, nowMs: number): void {
    const last = this.#reached.at(-1);
    if (last !== undefined && nowMs - last.atMs < SPACING_MS) return;
    this.#forget(nowMs);
    this.#reached.push({ position, atMs: nowMs });
  }

  /** The newest position of that age, or the first one; empty without any. */
  at(nowMs: number): string {
    this.#forget(nowMs);
    return this.#reached[0]?.position ?? '';
  }

  #forget(nowMs: number): void {
    while ((this.#reached[1]?.atMs ?? Infinity) <= nowMs - this.#ageMs) this.#reached.shift();
  }
}
