/** Tries of a row alone before its time-out counts as its own fault. */
const MAX_TRIES = 3;
/** Rows remembered at once; a batch has 500, and of further ones each try is the first. */
const MAX_ROWS = 1_000;

/**
 * Rows whose statement took too long although they were alone in it. Once is bad luck: PostgreSQL
 * may be busy. After some tries it is the row, which then must hold up the others no longer.
 */
export class SlowRows {
  readonly #tries = new Map<string, number>();

  /** Whether a row was too slow alone before. */
  has(key: string): boolean {
    return this.#tries.size > 0 && this.#tries.has(key);
  }

  /** Notes a try; true when it was the last. */
  isLastTry(key: string): boolean {
    const tries = (this.#tries.get(key) ?? 0) + 1;
    if (tries >= MAX_TRIES) return true;
    if (this.#tries.size < MAX_ROWS || this.#tries.has(key)) this.#tries.set(key, tries);
    return false;
  }

  /** The row was written, or put away. */
  forget(key: string): void {
    this.#tries.delete(key);
  }
}
