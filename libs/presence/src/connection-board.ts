import { type PlaceCount, PLACES_PER_WORD, type PublisherWord } from './reports.ts';

/**
 * The connections of one publisher, counted by place. It keeps which places changed since the last
 * word, and how many connections came there.
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

  /** Whether there is something to say. */
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

  /** The next word: what changed, as far as one word holds it. */
  changes(): PublisherWord {
    const places: PlaceCount[] = [];
    for (const [place, came] of this.#changed) {
      if (places.length === PLACES_PER_WORD) break;
      this.#changed.delete(place);
      places.push([place, this.#counts.get(place) ?? 0, came]);
    }
    return { ...this.#head(), kind: 'changes', places };
  }

  /** All there is, as words that follow each other. */
  whole(): readonly PublisherWord[] {
    this.#changed.clear();
    const all = [...this.#counts];
    const of = Math.max(1, Math.ceil(all.length / PLACES_PER_WORD));
    return Array.from({ length: of }, (_, part) => {
      const places = all.slice(part * PLACES_PER_WORD, (part + 1) * PLACES_PER_WORD);
      return { ...this.#head(), kind: 'whole', part, of, places };
    });
  }

  bye(): PublisherWord {
    return { ...this.#head(), kind: 'bye' };
  }

  #head(): { readonly by: string; readonly host: string; readonly n: number } {
    return { by: this.#by, host: this.#host, n: this.#n++ };
  }
}
