import { type Proof, PROOFS_PER_MESSAGE } from './reports.ts';

/** Minions between two messages; a process answers fewer requests than this in that time. */
const PROOFS_MAX = 20_000;

/** The minions that proved themselves to a process since its last message, each once. */
export class ProofBoard {
  readonly #proofs = new Map<string, Omit<Proof, 'id' | 'agoMs'> & { readonly atMs: number }>();
  #leftOut = 0;

  /** Minions that found no room since the start. */
  get leftOut(): number {
    return this.#leftOut;
  }

  /**
   * Notes that a minion proved itself.
   * @param address proven to be the minion's; empty where it is not
   * @param answers it answered a question of the owner
   */
  add(id: string, address: string, answers: boolean, atMs: number): void {
    const before = this.#proofs.get(id);
    if (before === undefined && this.#proofs.size >= PROOFS_MAX) {
      this.#leftOut += 1;
      return;
    }
    this.#proofs.set(id, {
      address: address === '' ? (before?.address ?? '') : address,
      answers: answers || before?.answers === true,
      atMs,
    });
  }

  /** All since the last call, in the portions of messages. */
  take(nowMs: number): readonly (readonly Proof[])[] {
    if (this.#proofs.size === 0) return [];
    const all = [...this.#proofs].map(([id, { address, answers, atMs }]) => {
      return { id, address, answers, agoMs: Math.max(0, Math.round(nowMs - atMs)) };
    });
    this.#proofs.clear();
    const messages: Proof[][] = [];
    for (let at = 0; at < all.length; at += PROOFS_PER_MESSAGE) {
      messages.push(all.slice(at, at + PROOFS_PER_MESSAGE));
    }
    return messages;
  }
}
