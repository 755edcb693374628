import type { Pending } from './pending-request.ts';

/** A request that was sent to a worker. */
export interface Try {
  readonly pending: Pending;
  readonly worker: string;
}

/** All tries of the requests that have no outcome yet, by their slots. */
export class Tries {
  readonly #of = new Map<string, Try>();
  #next = 0;

  /** Begins the try that counts from now on, and gives its slot. */
  begin(pending: Pending, worker: string): string {
    const slot = (this.#next++).toString(36);
    pending.slots.push(slot);
    pending.current = slot;
    pending.tried.add(worker);
    this.#of.set(slot, { pending, worker });
    return slot;
  }

  get(slot: string): Try | undefined {
    return this.#of.get(slot);
  }

  /** The requests that were tried. */
  get pending(): readonly Pending[] {
    return [...this.#of.values()].map(({ pending }) => pending);
  }

  /** Ends all tries of a request; gives their workers. */
  end({ slots }: Pending): readonly string[] {
    return slots.flatMap((slot) => {
      const worker = this.#of.get(slot)?.worker;
      this.#of.delete(slot);
      return worker === undefined ? [] : [worker];
    });
  }
}
