/** Tries of a row alone before its time-out may be its own fault. */
const MAX_TRIES = 3;
/** Rows remembered at once; a batch has 500, and of further ones each try is the first. */
const MAX_ROWS = 1_000;
/** So many slow statements and no other between them: that is PostgreSQL and no row. */
const MAX_STREAK = 6;

/**
 * Rows whose statement took too long although they were alone in it. Once is bad luck: PostgreSQL
 * may be busy. After some tries, while others were written, it is the row, which then must hold
 * them up no longer.
 */
export class SlowRows {
  readonly #tries = new Map<string, { tries: number; readonly since: number }>();
  #written = 0;
  #streak = 0;

  /** Whether a row was too slow alone before. */
  has(key: string): boolean {
    return this.#tries.size > 0 && this.#tries.has(key);
  }

  /** A statement was done in time. */
  wrote(): void {
    this.#written += 1;
    this.#streak = 0;
  }

  /** A statement was not. True where that is so of all of them. */
  isEverythingSlow(): boolean {
    this.#streak += 1;
    return this.#streak >= MAX_STREAK;
  }

  /**
   * Notes a try of a row alone. `again` while there are tries left; then whether it is the row's
   * own fault: `guilty` where others were written since its first try, else `unsure`.
   */
  judge(key: string): 'again' | 'unsure' | 'guilty' {
    const known = this.#tries.get(key) ?? { tries: 0, since: this.#written };
    known.tries += 1;
    if (this.#tries.size < MAX_ROWS) this.#tries.set(key, known);
    if (known.tries < MAX_TRIES) return 'again';
    return this.#written > known.since ? 'guilty' : 'unsure';
  }

  /** The row was written, or put away. */
  forget(key: string): void {
    this.#tries.delete(key);
  }
}
