import { REPLY_INBOX } from '../subjects/names.ts';
import type { Held } from './class-queue.ts';
import { RENEWALS } from './request-frame.ts';

/** How long a claim may wait for others, in ms: a sixtieth of what a gateway waits for it. */
const CLAIM_AFTER_MS = 20;

/**
 * Says to gateways which of their requests a worker has, many in one message. What is answered
 * within a few milliseconds, as most requests are, is never claimed: the answer says as much.
 */
export class Claims {
  readonly #say: (subject: string, word: Uint8Array) => void;
  #waiting: Held[] = [];

  constructor(say: (subject: string, word: Uint8Array) => void) {
    this.#say = say;
  }

  /** Claims a request soon, unless it is `done` by then. */
  soon(held: Held): void {
    this.#waiting.push(held);
    if (this.#waiting.length > 1) return;
    setTimeout(() => {
      const waiting = this.#waiting;
      this.#waiting = [];
      this.now(waiting.filter((one) => !one.done));
    }, CLAIM_AFTER_MS);
  }

  /** Claims these, or renews their claims. */
  now(mine: readonly Held[]): void {
    const slots = new Map<string, string[]>();
    for (const held of mine) {
      const list = slots.get(held.gateway);
      if (list === undefined) slots.set(held.gateway, [held.slot]);
      else list.push(held.slot);
    }
    for (const [gateway, list] of slots) {
      this.#say(`${REPLY_INBOX}.${gateway}.${RENEWALS}`, Buffer.from(list.join(' ')));
    }
  }
}
