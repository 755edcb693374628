/** Records when repeated work last ended, for `/status`. */
export class LastRuns {
  readonly #at = new Map<string, number>();

  /** The work is done; `ms` is unix time. */
  ran(name: string, ms = Date.now()): void {
    this.#at.set(name, ms);
  }

  /** Under `ranAt`, where `brine status` reads it: the name of the work, and an RFC 3339 time. */
  status(): { readonly ranAt: Readonly<Record<string, string>> } {
    const all = [...this.#at].map(([name, ms]) => [name, new Date(ms).toISOString()] as const);
    return { ranAt: Object.fromEntries(all) };
  }
}
