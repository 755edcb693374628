import type { Workers } from './ports.ts';

/** A sealed request in hand. */
interface Sealed {
  readonly id: string;
  readonly body: Buffer;
  readonly at: number;
  /** The same with a fraction, for the trace. */
  readonly receivedMs: number;
  readonly answer: (outcome: SealedOutcome) => void;
  tries: number;
}

/** The answer of a sealed request; undefined where there is none. */
export type SealedOutcome = { readonly body: Uint8Array; readonly trace?: string } | undefined;

/** Counts of the lane of sealed requests. */
export interface SealedLaneStats {
  /** Not answered for longer than a peer waits, and still to be delivered. */
  readonly kept: number;
  readonly keptBytes: number;
  /** Delivered after the worker had once left them unanswered. */
  readonly redelivered: number;
  /** Given up: too old, or too many. */
  readonly lost: number;
}

// A minion sends a return three times within 15 to 30 s and then forgets it; two minutes bridge the
// restart of everything behind this gateway.
const KEEP_MS = 120_000;
const MAX_KEPT = 50_000;
const MAX_KEPT_BYTES = 256 * 1_048_576;
const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 5_000;

/**
 * Sealed requests (returns above all): held as long as it takes, for the answer to be given
 * whenever the work is done. A worker that could not store a return leaves it unanswered; then the
 * bytes are kept here and delivered again under the same id, which is stored and counted once. No
 * error text is ever given: after three refusals within milliseconds a stock minion drops its
 * return.
 */
export class SealedLane {
  readonly #workers: Workers;
  readonly #waiting = new Set<Sealed>();
  #bytes = 0;
  #redelivered = 0;
  #lost = 0;
  #closed = false;

  constructor(workers: Workers) {
    this.#workers = workers;
  }

  get stats(): SealedLaneStats {
    return {
      kept: this.#waiting.size,
      keptBytes: this.#bytes,
      redelivered: this.#redelivered,
      lost: this.#lost,
    };
  }

  /** Resolves with the answer, however late; undefined once the request was given up. */
  send(id: string, body: Buffer, receivedMs: number): Promise<SealedOutcome> {
    return new Promise((answer) => {
      void this.#deliver({ id, body, at: Date.now(), receivedMs, answer, tries: 0 });
    });
  }

  /** Gives up what is kept. */
  close(): void {
    this.#closed = true;
    for (const sealed of this.#waiting) {
      this.#lost += 1;
      sealed.answer(undefined);
    }
    this.#waiting.clear();
    this.#bytes = 0;
  }

  async #deliver(sealed: Sealed): Promise<void> {
    const { id, body, at, receivedMs } = sealed;
    const outcome = await this.#workers.send({
      id,
      class: 'aes',
      body,
      receivedMs,
      deadlineMs: at + KEEP_MS,
    });
    if (outcome.kind === 'reply') {
      if (sealed.tries > 0) this.#redelivered += 1;
      return sealed.answer(outcome);
    }
    this.#keep(sealed);
  }

  #keep(sealed: Sealed): void {
    const delay = Math.min(FIRST_RETRY_MS * 2 ** sealed.tries, LONGEST_RETRY_MS);
    const late = Date.now() + delay >= sealed.at + KEEP_MS;
    const full =
      this.#waiting.size >= MAX_KEPT || this.#bytes + sealed.body.length > MAX_KEPT_BYTES;
    if (late || full || this.#closed) {
      this.#lost += 1;
      return sealed.answer(undefined);
    }
    this.#waiting.add(sealed);
    this.#bytes += sealed.body.length;
    sealed.tries += 1;
    setTimeout(() => {
      if (!this.#waiting.delete(sealed)) return;
      this.#bytes -= sealed.body.length;
      void this.#deliver(sealed);
    }, delay).unref();
  }
}
