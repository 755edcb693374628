import { LIMITS, type RequestToSend } from '@brine/bus/rpc';
import { backoffMs, OncePer } from '@brine/tasks';
import type { Workers } from './ports.ts';

/** A sealed request in hand. */
interface Sealed {
  readonly id: string;
  readonly body: Buffer;
  /** The minion in its envelope, which is not proven, and its address. */
  readonly by: Pick<RequestToSend, 'asker' | 'peer'>;
  /** The time of arrival by the monotonic clock: setting the wall clock must not end a wait. */
  readonly at: number;
  /** The time of arrival, in ms since 1970 with a fraction, for the trace. */
  readonly receivedMs: number;
  readonly answer: (outcome: SealedOutcome) => void;
  tries: number;
}

/** The answer of a sealed request; undefined without one. */
export type SealedOutcome = { readonly body: Uint8Array; readonly trace?: string } | undefined;

/** Counts of the lane of sealed requests. */
export interface SealedLaneStats {
  /** Pending for longer than a peer waits, and still to be delivered. */
  readonly kept: number;
  readonly keptBytes: number;
  /** Delivered after a worker had left them unanswered. */
  readonly redelivered: number;
  /** Delivered when the peer had most likely asked again: the outage exceeded its patience. */
  readonly late: number;
  /** Given up, for all reasons together. */
  readonly lost: number;
  readonly lostBy: Readonly<Record<LostReason, number>>;
}

/** Why a request was given up: too old, too many kept, or of its minion, or the end. */
export type LostReason = 'old' | 'full' | 'share' | 'stopped';

const { waitsMs, backlog, backlogBytes, backlogPartOfOne, firstRetryMs, longestRetryMs, lateMs } =
  LIMITS.sealed;
const RETRIES = { firstMs: firstRetryMs, longestMs: longestRetryMs };

/**
 * Sealed requests (returns above all) wait without a limit, and are answered whenever the work is
 * done. A worker that could not store a return leaves it unanswered. Then the bytes are kept here
 * and delivered again under the same id, which is stored and counted once. The answer is never an
 * error text: after three refusals within milliseconds a stock minion drops its return.
 */
export class SealedLane {
  readonly #workers: Workers;
  readonly #waiting = new Set<Sealed>();
  #bytes = 0;
  /** Bytes that are kept, by minion. */
  readonly #bytesOf = new Map<string, number>();
  #redelivered = 0;
  #late = 0;
  readonly #lostBy: Record<LostReason, number> = { old: 0, full: 0, share: 0, stopped: 0 };
  /** Reasons that were reported already, until all is delivered again. */
  readonly #reported = new OncePer(Infinity);
  readonly #onLost: (reason: LostReason) => void;
  #closed = false;

  /** `onLost` is called once per outage for each reason that requests are given up for. */
  constructor(workers: Workers, onLost: (reason: LostReason) => void = () => undefined) {
    this.#workers = workers;
    this.#onLost = onLost;
  }

  get stats(): SealedLaneStats {
    return {
      kept: this.#waiting.size,
      keptBytes: this.#bytes,
      redelivered: this.#redelivered,
      late: this.#late,
      lost: Object.values(this.#lostBy).reduce((sum, count) => sum + count, 0),
      lostBy: { ...this.#lostBy },
    };
  }

  /** Resolves with the answer, however late; undefined once the request was given up. */
  send(
    id: string,
    body: Buffer,
    receivedMs: number,
    by: Sealed['by'] = {},
  ): Promise<SealedOutcome> {
    return new Promise((answer) => {
      void this.#deliver({ id, body, by, at: performance.now(), receivedMs, answer, tries: 0 });
    });
  }

  /** Gives up all kept requests. */
  close(): void {
    this.#closed = true;
    for (const sealed of this.#waiting) this.#giveUp(sealed, 'stopped');
    this.#waiting.clear();
    this.#bytesOf.clear();
    this.#bytes = 0;
  }

  async #deliver(sealed: Sealed): Promise<void> {
    const { id, body, by, receivedMs } = sealed;
    const left = sealed.at + waitsMs - performance.now();
    const outcome = await this.#workers.send({
      id,
      class: 'aes',
      body,
      receivedMs,
      deadlineMs: Date.now() + left,
      ...by,
    });
    if (outcome.kind === 'reply') {
      if (sealed.tries > 0) this.#redelivered += 1;
      if (performance.now() - sealed.at > lateMs) this.#late += 1;
      else if (this.#waiting.size === 0) this.#reported.clear();
      return sealed.answer(outcome);
    }
    // A request that stalls workers is not sent again: the minion repeats it if necessary.
    if (outcome.kind === 'expired' && (outcome.why === 'stalled' || outcome.why === 'rests')) {
      return sealed.answer(undefined);
    }
    this.#keep(sealed);
  }

  #keep(sealed: Sealed): void {
    const delay = backoffMs(RETRIES, sealed.tries + 1);
    const full = this.#waiting.size >= backlog || this.#bytes + sealed.body.length > backlogBytes;
    if (this.#closed) return this.#giveUp(sealed, 'stopped');
    if (performance.now() + delay >= sealed.at + waitsMs) return this.#giveUp(sealed, 'old');
    if (full) return this.#giveUp(sealed, 'full');
    // Workers do not answer a minion that sends more than its share of the streams.
    const ofMinion = (this.#bytesOf.get(sealed.by.asker ?? '') ?? 0) + sealed.body.length;
    const isFirst = ofMinion === sealed.body.length;
    const isTooMuch = !isFirst && ofMinion > backlogBytes * backlogPartOfOne;
    if (sealed.by.asker !== undefined && isTooMuch) return this.#giveUp(sealed, 'share');
    this.#waiting.add(sealed);
    this.#count(sealed, 1);
    sealed.tries += 1;
    setTimeout(() => {
      if (!this.#waiting.delete(sealed)) return;
      this.#count(sealed, -1);
      void this.#deliver(sealed);
    }, delay).unref();
  }

  #count({ body, by: { asker = '' } }: Sealed, sign: 1 | -1): void {
    this.#bytes += sign * body.length;
    const bytes = (this.#bytesOf.get(asker) ?? 0) + sign * body.length;
    if (bytes === 0) this.#bytesOf.delete(asker);
    else this.#bytesOf.set(asker, bytes);
  }

  #giveUp(sealed: Sealed, reason: LostReason): void {
    this.#lostBy[reason] += 1;
    if (this.#reported.pass(reason) > 0) this.#onLost(reason);
    sealed.answer(undefined);
  }
}
