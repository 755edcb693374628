/** First come, first served; whoever gives up leaves from anywhere in the line. */
export class WaitingLine<T> implements Iterable<T> {
  // A Set keeps the order of insertion and forgets in constant time.
  readonly #line = new Set<T>();

  get size(): number {
    return this.#line.size;
  }

  /** Joins at the end; who is in line already keeps its place. */
  add(one: T): void {
    this.#line.add(one);
  }

  remove(one: T): void {
    this.#line.delete(one);
  }

  [Symbol.iterator](): Iterator<T> {
    return this.#line.values();
  }
}
