/** The last so many keys; adding one more forgets the oldest. */
export class RecentKeys {
  readonly #max: number;
  readonly #keys = new Set<string>();

  constructor(max: number) {
    this.#max = max;
  }

  has(key: string): boolean {
    return this.#keys.has(key);
  }

  add(key: string): void {
    this.#keys.add(key);
    if (this.#keys.size <= this.#max) return;
    for (const oldest of this.#keys) {
      this.#keys.delete(oldest);
      return;
    }
  }
}
