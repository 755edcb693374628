import type { EventToReturn } from './event.ts';
import type { Batch } from './gathering.ts';
import { failureOf } from './returner.ts';

export interface DeliveryPorts {
  /** Writes a batch, as `EventReturner.write`. */
  readonly write: (batch: Batch) => Promise<unknown>;
  /**
   * Repeats work while it fails for an outage; resolves with undefined once this process is to
   * stop. Throws an error that is no outage.
   */
  readonly retry: <T extends object>(
    work: () => Promise<T>,
    isOutage: (error: unknown) => boolean,
  ) => Promise<T | undefined>;
  /**
   * Quarantines an event that its returner refuses for good. Throws a retryable error for outages.
   */
  readonly quarantine: (event: EventToReturn, error: unknown) => Promise<object>;
  /** Called when a batch, or a part of it, is written: everything up to its `to` is done. */
  readonly written: (batch: Batch, note: unknown) => Promise<void>;
  readonly quarantined: (event: EventToReturn, error: unknown) => void;
  /** A monotonic clock, ms. */
  readonly now: () => number;
}

/** Tries of a batch before it is split, if the returner gives no reason. */
const UNCLEAR_TRIES = 3;
/** Time after which a single event may itself be the fault, in ms. */
const UNCLEAR_MS = 120_000;

/** Writes batches to a returner, through outages and refusals, in order. */
export class Delivery {
  readonly #ports: DeliveryPorts;
  /** True if something was written since an event was last quarantined without a clear reason. */
  #hasWritten = true;

  constructor(ports: DeliveryPorts) {
    this.#ports = ports;
  }

  /**
   * Resolves with true when the whole batch is written or quarantined, with false once this process
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
          // An empty batch has no event that could be at fault.
          if (batch.events.length === 0 || (failure !== 'refused' && !isBlamed)) throw error;
          return { refused: error };
        }
      },
      (error) => !['moved', 'missing'].includes(failureOf(error)),
    );
  }

  /**
   * True if a failure without a clear reason may be the fault of an event. All events fail in an
   * outage, so a second one is blamed only after a successful write.
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
