/** Holds back what came before the event that has to precede it. Bounded in time and number. */
export interface ReturnHoldOptions<T> {
  /** Hands an item on. */
  readonly release: (item: T) => void;
  /** Longest wait, in ms: a 3007 CLI overlooks a return that comes before `new` for 5.5 s. */
  readonly holdMs?: number;
  readonly maxHeld?: number;
  /** How many jobs are remembered as announced. */
  readonly maxKnown?: number;
}

interface Held<T> {
  readonly items: T[];
  readonly timer: NodeJS.Timeout;
}

/**
 * Jobs and returns come from two streams, so a return can be here before its job. It waits until
 * the job was announced, or until time is up (jobs that a minion started itself never are).
 */
export class ReturnHold<T> {
  readonly #options: Required<ReturnHoldOptions<T>>;
  readonly #held = new Map<string, Held<T>>();
  /** Insertion order is age: the oldest is forgotten first. */
  readonly #known = new Set<string>();
  #count = 0;
  #counts = { held: 0, timedOut: 0, overflowed: 0 };

  constructor(options: ReturnHoldOptions<T>) {
    this.#options = { holdMs: 1_000, maxHeld: 10_000, maxKnown: 50_000, ...options };
  }

  /** True when the job was announced, or is not waited for any more. */
  knows(jid: string): boolean {
    return this.#known.has(jid);
  }

  stats(): {
    readonly waiting: number;
    readonly held: number;
    readonly timedOut: number;
    readonly overflowed: number;
  } {
    return { waiting: this.#count, ...this.#counts };
  }

  /** Hands the item on at once if its job is known, else later; order within a job is kept. */
  offer(jid: string, item: T): void {
    if (this.#known.has(jid)) {
      this.#options.release(item);
      return;
    }
    if (this.#count >= this.#options.maxHeld) {
      this.#counts.overflowed += 1;
      this.announced(jid);
      this.#options.release(item);
      return;
    }
    this.#count += 1;
    this.#counts.held += 1;
    const waiting = this.#held.get(jid);
    if (waiting) {
      waiting.items.push(item);
      return;
    }
    const timer = setTimeout(() => {
      this.#counts.timedOut += 1;
      this.announced(jid);
    }, this.#options.holdMs);
    this.#held.set(jid, { items: [item], timer });
  }

  /** The job was announced: what waits for it goes out, and nothing of it waits any more. */
  announced(jid: string): void {
    this.#known.add(jid);
    if (this.#known.size > this.#options.maxKnown) {
      for (const oldest of this.#known) {
        this.#known.delete(oldest);
        break;
      }
    }
    const waiting = this.#held.get(jid);
    if (waiting === undefined) return;
    clearTimeout(waiting.timer);
    this.#held.delete(jid);
    this.#count -= waiting.items.length;
    for (const item of waiting.items) this.#options.release(item);
  }

  /** Lets everything go. */
  close(): void {
    for (const jid of [...this.#held.keys()]) this.announced(jid);
  }
}
