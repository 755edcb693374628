/** Kinds of data that move, by their names in the report. */
export const KINDS = [
  'grains',
  'pillars',
  'mines',
  'tokens',
  'sessions',
  'jobs',
  'returns',
] as const;

/** One of these kinds. */
export type Kind = (typeof KINDS)[number];

/** Counts of one kind. */
export interface Count {
  /** New at the other master. */
  readonly moved: number;
  /** Already at the other master, or newer there. */
  readonly known: number;
  /** Not moved; the notes say why. */
  readonly left: number;
}

/** Examples kept for each note; the rest is counted. */
const NOTES_MAX = 5;

/** Notes that a second pass does not repeat; beyond this number it may. */
const LISTED_MAX = 10_000;

/** Counts moved data, and keeps a few examples of data that was not moved. */
export class Tally {
  readonly #counts = new Map<Kind, { moved: number; known: number; left: number }>();
  readonly #notes = new Map<string, { count: number; examples: string[] }>();

  readonly #seen = new Set<string>();
  #listedBefore: ReadonlySet<string> = new Set();

  /** A tally for a second pass over the same data. It does not repeat notes of this one. */
  after(): Tally {
    const later = new Tally();
    later.#listedBefore = this.#seen;
    return later;
  }

  /** Adds a second pass. Its known data is ignored: the first pass has moved it. */
  add(later: Tally): void {
    for (const kind of KINDS) {
      this.#of(kind).moved += later.#of(kind).moved;
      this.#of(kind).left += later.#of(kind).left;
    }
    for (const [why, { count, examples }] of later.#notes) {
      for (const example of examples) this.note(why, example);
      const known = this.#notes.get(why);
      if (known !== undefined) known.count += count - examples.length;
    }
  }

  moved(kind: Kind, count = 1): void {
    this.#of(kind).moved += count;
  }

  known(kind: Kind, count = 1): void {
    this.#of(kind).known += count;
  }

  /** Counts one item as moved if it was new, else as known. */
  took(kind: Kind, isNew: boolean): void {
    if (isNew) this.moved(kind);
    else this.known(kind);
  }

  /** Counts one item that was not moved. `why` is the same text for all with this reason. */
  left(kind: Kind, why: string, example: string): void {
    if (this.#listedBefore.has(`${why}: ${example}`)) return;
    this.#of(kind).left += 1;
    this.note(why, example);
  }

  /** Records a note. */
  note(why: string, example: string): void {
    const text = `${why}: ${example}`;
    if (this.#listedBefore.has(text)) return;
    if (this.#seen.size < LISTED_MAX) this.#seen.add(text);
    const known = this.#notes.get(why) ?? { count: 0, examples: [] };
    this.#notes.set(why, known);
    known.count += 1;
    if (known.examples.length < NOTES_MAX) known.examples.push(example);
  }

  count(kind: Kind): Count {
    return { ...this.#of(kind) };
  }

  /**
   * One line for each kind of note.
   * @param plain makes a text safe for a terminal: minions choose names that are in here
   */
  notes(plain: (text: string) => string = (text) => text): readonly string[] {
    return [...this.#notes].map(([why, { count, examples }]) => {
      const more = count - examples.length;
      const shown = examples.map(plain).join(', ');
      return `${plain(why)}: ${shown}${more > 0 ? ` and ${more} more` : ''}`;
    });
  }

  #of(kind: Kind): { moved: number; known: number; left: number } {
    const count = this.#counts.get(kind) ?? { moved: 0, known: 0, left: 0 };
    this.#counts.set(kind, count);
    return count;
  }
}
