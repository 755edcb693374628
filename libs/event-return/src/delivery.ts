import type { EventToReturn } from './event.ts';
import type { Batch } from './gathering.ts';
import { failureOf } from './returner.ts';

/** What a delivery works with. */
export interface DeliveryPorts {
  /** Writes a batch, as `EventReturner.write`. */
  readonly write: (batch: Batch) => Promise<unknown>;
  /**
   * Does work again while it fails for an outage; resolves with undefined once this process is to
   * stop. Throws an error that is no outage.
   */
  readonly retry: <T extends object>(
    work: () => Promise<T>,
    isOutage: (error: unknown) => boolean,
  ) => Promise<T | undefined>;
  /** Puts away what its returner refuses for good. Throws a retryable error for outages. */
  readonly quarantine: (event: EventToReturn, error: unknown) => Promise<object>;
  /** A batch, or a part of one, is written: up to its `to` all is done. */
  readonly written: (batch: Batch, note: unknown) => Promise<void>;
  readonly quarantined: (event: EventToReturn, error: unknown) => void;
  /** A monotonic clock, ms. */
  readonly now: () => number;
}

/** Tries of a batch before it is split, where the returner does not say what is wrong. */
const UNCLEAR_TRIES = 3;
/** How long an event alone is tried before it may be its own fault, in ms. */
const UNCLEAR_MS = 120_000;

/** Writes batches to a returner, through outages and refusals, in order. */
export class Delivery {
  readonly #ports: DeliveryPorts;
  /** Something was written since an event was last put away without a clear reason. */
  #hasWritten = true;

  constructor(ports: DeliveryPorts) {
    this.#ports = ports;
  }

  /**
   * Resolves with true when all of the batch is written or put away, with false once this process
   * is to stop. Throws ReturnerError `moved` and `missing`.
   */
  async deliver(batch: Batch): Promise<boolean> {
    const outcome = await this.#try(batch);
    if (outcome === undefined) return false;
    if ('note' in outcome) {
      if (batch.events.length > 0) this.#hasWritten = true;
      await this.#ports.written(batch, outcome.note);
      return true;
    }
    const [only] = batch.events;
    if (only !== undefined && batch.events.length === 1) {
      return this.#putAway(batch, only, outcome.refused);
    }
    for (const half of halves(batch)) if (!(await this.deliver(half))) return false;
    return true;
  }

  async #try(batch: Batch): Promise<{ readonly note: unknown } | Refused | undefined> {
    const { write, retry, now } = this.#ports;
    const sinceMs = now();
    let unclear = 0;
    return retry(
      async (): Promise<{ readonly note: unknown } | Refused> => {
        try {
          return { note: await write(batch) };
        } catch (error) {
          const failure = failureOf(error);
          if (failure === 'unclear') unclear += 1;
          const isBlamed = unclear > 0 && this.#mayBlame(batch, unclear, now() - sinceMs);
          // A batch without events has nothing that could be at fault.
          if (batch.events.length === 0 || (failure !== 'refused' && !isBlamed)) throw error;
          return { refused: error };
        }
      },
      (error) => !['moved', 'missing'].includes(failureOf(error)),
    );
  }

  /**
   * Whether a failure without a clear reason may be the fault of an event. In an outage all of them
   * fail, so no second one is blamed before something was written.
   */
  #mayBlame({ events }: Batch, tries: number, forMs: number): boolean {
    if (events.length > 1) return tries >= UNCLEAR_TRIES;
    return this.#hasWritten && tries >= UNCLEAR_TRIES && forMs >= UNCLEAR_MS;
  }

  async #putAway(batch: Batch, event: EventToReturn, error: unknown): Promise<boolean> {
    const { quarantine, quarantined, retry } = this.#ports;
    if (failureOf(error) === 'unclear') this.#hasWritten = false;
    const kept = await retry(() => quarantine(event, error), isAway);
    if (kept === undefined) return false;
    quarantined(event, error);
    return this.deliver({ ...batch, events: [] });
  }
}

interface Refused {
  readonly refused: unknown;
}

function halves(batch: Batch): readonly Batch[] {
  const { events, from, to } = batch;
  const middle = Math.ceil(events.length / 2);
  const [first, second] = [events.slice(0, middle), events.slice(middle)];
  const between = first.at(-1)?.position ?? from;
  return [
    { events: first, from, to: between },
    { events: second, from: between, to },
  ];
}

function isAway(error: unknown): boolean {
  return error instanceof Error && 'retryable' in error && error.retryable === true;
}
