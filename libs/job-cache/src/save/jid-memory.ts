/** How many jids are remembered; the oldest are forgotten first. */
const MAX_JIDS = 10_000;

/** Remembers which jids have a job in the database, so that batches of returns need not ask. */
export class JidMemory {
  readonly #jids = new Set<string>();

  has(jid: string): boolean {
    return this.#jids.has(jid);
  }

  add(jid: string): void {
    this.#jids.add(jid);
    if (this.#jids.size <= MAX_JIDS) return;
    for (const oldest of this.#jids) {
      this.#jids.delete(oldest);
      return;
    }
  }
}
