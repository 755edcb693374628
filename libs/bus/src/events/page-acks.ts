import { nakAfter } from '../streams/pull-feed.ts';
import type { Received } from '../streams/stream-reader.ts';

/** What a reader did with an event. */
export type Outcome = { readonly nakMs: number } | { readonly error: unknown } | 'done';

/**
 * A message of the stream that holds several events. It is acknowledged when the last of them is.
 * Where one is given back or could not be handled, the whole page comes again.
 */
export class PageAcks {
  readonly #received: Received;
  #left: number;
  #nakMs: number | undefined;
  #failure: { readonly error: unknown } | undefined;

  constructor(received: Received, events: number) {
    this.#received = received;
    this.#left = events;
  }

  /** One of its events is settled; call it once for each. */
  settle(outcome: Outcome): void {
    if (outcome !== 'done') {
      if ('nakMs' in outcome) this.#nakMs = Math.max(this.#nakMs ?? 0, outcome.nakMs);
      else this.#failure ??= outcome;
    }
    this.#left -= 1;
    if (this.#left > 0) return;
    // A page that fails may move aside for good: what was given back must come again before that.
    if (this.#nakMs !== undefined) this.#received.settle(nakAfter(this.#nakMs));
    else if (this.#failure !== undefined) this.#received.failed(this.#failure.error);
    else this.#received.settle('+ACK');
  }
}
