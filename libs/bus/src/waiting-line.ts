/** First come, first served; whoever gives up leaves from anywhere in the line. */
export class WaitingLine<T> implements Iterable<T> {
  // A Set keeps the order of insertion and forgets in constant time.
  readonly #line = new Set<T>();

  get size(): number {
    return this.#line.size;
  }

  add(one: T): void {
    this.#line.add(one);
  }

  /** Takes the first. */
  take(): T | undefined {
    const [first] = this.#line;
    if (first !== undefined) this.#line.delete(first);
    return first;
  }

  remove(one: T): void {
    this.#line.delete(one);
  }

  [Symbol.iterator](): Iterator<T> {
    return this.#line.values();
  }
}
