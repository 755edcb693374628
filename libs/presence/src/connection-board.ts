import { type PlaceCount, PLACES_PER_REPORT, type PublisherReport } from './reports.ts';

/**
 * The connections of one publisher, counted by place. It keeps which places changed since the last
 * report, and how many connections came there.
 */
export class ConnectionBoard {
  readonly #counts = new Map<string, number>();
  /** How many connections came to places with a change. */
  readonly #changed = new Map<string, number>();
  readonly #by: string;
  readonly #host: string;
  #n = 0;

  /** @param by names the process, and no other one */
  constructor(by: string, host: string) {
    this.#by = by;
    this.#host = host;
  }

  /** Places with a connection. */
  get places(): number {
    return this.#counts.size;
  }

  /** Whether there is something to report. */
  get hasChanged(): boolean {
    return this.#changed.size > 0;
  }

  opened(place: string): void {
    this.#counts.set(place, (this.#counts.get(place) ?? 0) + 1);
    this.#changed.set(place, (this.#changed.get(place) ?? 0) + 1);
  }

  closed(place: string): void {
    const count = (this.#counts.get(place) ?? 0) - 1;
    if (count > 0) this.#counts.set(place, count);
    else this.#counts.delete(place);
    this.#changed.set(place, this.#changed.get(place) ?? 0);
  }

  /** The next report: what changed, as far as one report has room. */
  changes(): PublisherReport {
    const places: PlaceCount[] = [];
    for (const [place, came] of this.#changed) {
      if (places.length === PLACES_PER_REPORT) break;
      this.#changed.delete(place);
      places.push([place, this.#counts.get(place) ?? 0, came]);
    }
    return { ...this.#head(), kind: 'changes', places };
  }

  /** All connections, as reports that follow each other. */
  whole(): readonly PublisherReport[] {
    this.#changed.clear();
    const all = [...this.#counts];
    const of = Math.max(1, Math.ceil(all.length / PLACES_PER_REPORT));
    return Array.from({ length: of }, (_, part) => {
      const places = all.slice(part * PLACES_PER_REPORT, (part + 1) * PLACES_PER_REPORT);
      return { ...this.#head(), kind: 'whole', part, of, places };
    });
  }

  bye(): PublisherReport {
    return { ...this.#head(), kind: 'bye' };
  }

  #head(): { readonly by: string; readonly host: string; readonly n: number } {
    return { by: this.#by, host: this.#host, n: this.#n++ };
  }
}
