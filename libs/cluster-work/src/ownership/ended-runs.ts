/** Ended runs that are remembered: those of a week, with 150 a day. */
const MAX = 1_000;
/** The bucket keeps a record for this long (libs/bus ensure-streams), ms. */
const KEPT_MS = 7 * 86_400_000;

/** The record that an ended run left. */
interface Left {
  readonly value: Uint8Array;
  /** When it was written, unix ms. */
  readonly timeMs: number;
}

/** The last records of runs that have ended, as one process follows them; the newest are kept. */
export class EndedRuns {
  readonly #left = new Map<string, Left>();

  set(jid: string, left: Left): void {
    this.#left.set(jid, left);
    if (this.#left.size <= MAX) return;
    const oldest = [...this.#left.keys()].reduce((one, other) => (one < other ? one : other));
    this.#left.delete(oldest);
  }

  delete(jid: string): void {
    this.#left.delete(jid);
  }

  clear(): void {
    this.#left.clear();
  }

  /** Those that the bucket still has, by their jids, newest first. */
  newest(nowMs: number): (readonly [jid: string, value: Uint8Array])[] {
    for (const [jid, { timeMs }] of this.#left) {
      if (timeMs + KEPT_MS < nowMs) this.#left.delete(jid);
    }
    return [...this.#left]
      .map(([jid, { value }]) => [jid, value] as const)
      .sort(([one], [other]) => (one < other ? 1 : -1));
  }
}
