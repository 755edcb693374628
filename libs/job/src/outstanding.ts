/** How a return was booked. */
export type Booking = 'returned' | 'failed' | 'late' | 'again';

/**
 * The state of one job. `targeted` is always the sum of the other five; after `close`,
 * `waiting` is 0.
 */
export interface JobCounts {
  readonly targeted: number;
  readonly waiting: number;
  readonly returned: number;
  readonly failed: number;
  readonly late: number;
  readonly never: number;
}

/**
 * The ledger of one job: the minions that are waited for, that returned, that never did. Each
 * minion counts once, even if its return is sent again. A return of a minion outside the set adds
 * it, because minions judge targets themselves.
 */
export class Outstanding {
  readonly #deadlineMs: number;
  readonly #waiting: Set<string>;
  readonly #never = new Set<string>();
  readonly #booked = new Map<string, Exclude<Booking, 'again'>>();
  readonly #unexpected = new Set<string>();
  #closed = false;

  /** @param deadlineMs unix milliseconds; a first return after it is late. */
  constructor(targeted: Iterable<string>, deadlineMs = Number.POSITIVE_INFINITY) {
    this.#waiting = new Set(targeted);
    this.#deadlineMs = deadlineMs;
  }

  /** Books a return; `again` if this minion had one already. */
  book(id: string, failed: boolean, atMs: number): Booking {
    if (this.#booked.has(id)) return 'again';
    const expected = this.#waiting.delete(id) || this.#never.delete(id);
    if (!expected) this.#unexpected.add(id);
    const late = this.#closed || atMs > this.#deadlineMs;
    const booking = late ? 'late' : failed ? 'failed' : 'returned';
    this.#booked.set(id, booking);
    return booking;
  }

  /** Adds minions that turned out to be targeted as well. */
  expect(ids: Iterable<string>): void {
    for (const id of ids) {
      if (this.#booked.has(id)) this.#unexpected.delete(id);
      else if (this.#closed) this.#never.add(id);
      else this.#waiting.add(id);
    }
  }

  /** Ends the wait: minions without a return count as never, until a late return comes. */
  close(): void {
    this.#closed = true;
    for (const id of this.#waiting) this.#never.add(id);
    this.#waiting.clear();
  }

  /** True once `close` was called. */
  get closed(): boolean {
    return this.#closed;
  }

  /** The minions whose return is awaited. */
  get waiting(): ReadonlySet<string> {
    return this.#waiting;
  }

  /** The minions that did not return before the job was closed. */
  get never(): ReadonlySet<string> {
    return this.#never;
  }

  /** The minions that returned without being in the set. */
  get unexpected(): ReadonlySet<string> {
    return this.#unexpected;
  }

  /** The counts of this moment. */
  counts(): JobCounts {
    const tally = { returned: 0, failed: 0, late: 0 };
    for (const booking of this.#booked.values()) tally[booking] += 1;
    const waiting = this.#waiting.size;
    const never = this.#never.size;
    return { targeted: waiting + never + this.#booked.size, waiting, never, ...tally };
  }
}
