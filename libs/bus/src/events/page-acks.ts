import { nakAfter } from '../streams/pull-feed.ts';
import type { Received } from '../streams/stream-reader.ts';

/** A reader's result for an event. */
export type Outcome = { readonly nakMs: number } | { readonly error: unknown } | 'done';

/**
 * A message of the stream with several events. It is acknowledged when the last of them is. If a
 * reader gives one back or fails on it, the whole page is delivered again.
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

  /** Settles an event of the page; call it once for each. */
  settle(outcome: Outcome): void {
    if (outcome !== 'done') {
      if ('nakMs' in outcome) this.#nakMs = Math.max(this.#nakMs ?? 0, outcome.nakMs);
      else this.#failure ??= outcome;
    }
    this.#left -= 1;
    if (this.#left > 0) return;
    // A failed page may be skipped for good, so redeliver what was given back before that.
    if (this.#nakMs !== undefined) this.#received.settle(nakAfter(this.#nakMs));
    else if (this.#failure !== undefined) this.#received.failed(this.#failure.error);
    else this.#received.settle('+ACK');
  }
}
