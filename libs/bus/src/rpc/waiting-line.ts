/** What waits in a line, and since when by the monotonic clock. */
export interface Waiting {
  readonly linedUpAt: number;
}

interface Link<T> {
  readonly item: T;
  older: Link<T> | undefined;
  newer: Link<T> | undefined;
}

/**
 * Who waits for a place, oldest first. A line in which somebody has waited for `patienceMs` is
 * served newest first until it is short again: the peers at its head have given up waiting and
 * asked again by then (a stock minion after 5 to 10 s), and served in order each would be late, for
 * ever. Those passed over are served when there is room; what they carry is not lost.
 */
export class WaitingLine<T extends Waiting> {
  readonly #patienceMs: number;
  readonly #links = new Map<T, Link<T>>();
  #oldest: Link<T> | undefined;
  #newest: Link<T> | undefined;

  constructor(patienceMs = Infinity) {
    this.#patienceMs = patienceMs;
  }

  /** The one that has waited longest, whoever is served next. */
  get oldest(): T | undefined {
    return this.#oldest?.item;
  }

  get size(): number {
    return this.#links.size;
  }

  /** Adds one at the end, unless it is here; then it keeps its place. */
  add(item: T): void {
    if (this.#links.has(item)) return;
    const link: Link<T> = { item, older: this.#newest, newer: undefined };
    if (this.#newest === undefined) this.#oldest = link;
    else this.#newest.newer = link;
    this.#newest = link;
    this.#links.set(item, link);
  }

  remove(item: T): void {
    const link = this.#links.get(item);
    if (link === undefined) return;
    this.#links.delete(item);
    if (link.older === undefined) this.#oldest = link.newer;
    else link.older.newer = link.newer;
    if (link.newer === undefined) this.#newest = link.older;
    else link.newer.older = link.older;
  }

  /** In the order in which they are to be served; what is removed meanwhile is left out. */
  *[Symbol.iterator](): Generator<T, void> {
    const patient = performance.now() - (this.#oldest?.item.linedUpAt ?? 0) < this.#patienceMs;
    let link = patient ? this.#oldest : this.#newest;
    while (link !== undefined) {
      const next: Link<T> | undefined = patient ? link.newer : link.older;
      if (this.#links.has(link.item)) yield link.item;
      link = next;
    }
  }
}
