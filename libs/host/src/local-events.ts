import { randomBytes } from 'node:crypto';
import type { Event } from '@brine/job';
import { splitEvent } from '@brine/wire/frames';

/** Stores an event for all hosts. */
export interface EventSink {
  append(event: Event): Promise<unknown>;
}

/** Appends in flight at once, over all sockets; beyond that the writing tools wait. */
const MAX_IN_FLIGHT = 256;

/** Takes events that local tools fire and appends them to the stream, in order, bounded. */
export class LocalEvents {
  readonly #sink: EventSink;
  readonly #onTrouble: (error: unknown) => void;
  /** Ids are new for each process, so that a message resent by the writer is stored once. */
  readonly #idPrefix = `local:${randomBytes(9).toString('base64url')}`;
  readonly #inFlight = new Set<Promise<void>>();
  #taken = 0;
  #stored = 0;
  #lost = 0;

  constructor(sink: EventSink, onTrouble: (error: unknown) => void) {
    this.#sink = sink;
    this.#onTrouble = onTrouble;
  }

  stats(): { readonly stored: number; readonly lost: number; readonly inFlight: number } {
    return { stored: this.#stored, lost: this.#lost, inFlight: this.#inFlight.size };
  }

  /** Starts storing an event; resolves when more may come. Throws WireError for other bytes. */
  readonly take = async (event: Uint8Array): Promise<void> => {
    const { tag, data } = splitEvent(event);
    const id = `${this.#idPrefix}:${(this.#taken += 1)}`;
    // Appended in the order of the calls: one connection keeps the order of what it sends.
    const storing = this.#store(tag, data, id).finally(() => this.#inFlight.delete(storing));
    this.#inFlight.add(storing);
    while (this.#inFlight.size >= MAX_IN_FLIGHT) await Promise.race(this.#inFlight);
  };

  /** Resolves when every event so far is stored or lost. */
  async drained(): Promise<void> {
    await Promise.all(this.#inFlight);
  }

  async #store(tag: string, body: Uint8Array, msgId: string): Promise<void> {
    try {
      await this.#sink.append({ kind: 'local', tag, body, msgId });
      this.#stored += 1;
    } catch (error) {
      this.#lost += 1;
      this.#onTrouble(error);
    }
  }
}
