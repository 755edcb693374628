import { type Heard, HEARD_PER_WORD } from './reports.ts';

/** Minions between two words; a worker answers fewer requests than this in that time. */
const HEARD_MAX = 20_000;

/** The minions that a worker heard since its last word, each once. */
export class HeardBoard {
  readonly #heard = new Map<string, Omit<Heard, 'id' | 'agoMs'> & { readonly atMs: number }>();
  #left = 0;

  /** Minions that found no room since the start. */
  get leftOut(): number {
    return this.#left;
  }

  /**
   * @param address proven to be the minion's; empty where it is not
   * @param answers it answered a question of the owner
   */
  heard(id: string, address: string, answers: boolean, atMs: number): void {
    const before = this.#heard.get(id);
    if (before === undefined && this.#heard.size >= HEARD_MAX) {
      this.#left += 1;
      return;
    }
    this.#heard.set(id, {
      address: address === '' ? (before?.address ?? '') : address,
      answers: answers || before?.answers === true,
      atMs,
    });
  }

  /** All since the last call, in the portions of words. */
  take(nowMs: number): readonly (readonly Heard[])[] {
    if (this.#heard.size === 0) return [];
    const all = [...this.#heard].map(([id, { address, answers, atMs }]) => {
      return { id, address, answers, agoMs: Math.max(0, Math.round(nowMs - atMs)) };
    });
    this.#heard.clear();
    const words: Heard[][] = [];
    for (let at = 0; at < all.length; at += HEARD_PER_WORD) {
      words.push(all.slice(at, at + HEARD_PER_WORD));
    }
    return words;
  }
}
