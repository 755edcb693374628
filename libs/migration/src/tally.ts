/** What moves, by the names of the report. */
export const KINDS = [
  'grains',
  'pillars',
  'mines',
  'tokens',
  'sessions',
  'jobs',
  'returns',
] as const;

/** One of the kinds of things that move. */
export type Kind = (typeof KINDS)[number];

/** How many of one kind moved, and how many did not. */
export interface Count {
  /** New at the other master. */
  readonly moved: number;
  /** There already, or there is something newer. */
  readonly known: number;
  /** Not moved; the notes say why. */
  readonly left: number;
}

/** Notes of one sort that are kept; the rest is counted. */
const NOTES_MAX = 5;

/** What a second look does not tell again; beyond that it may. */
const LISTED_MAX = 10_000;

/** Counts what moves, and keeps a few examples of what does not. */
export class Tally {
  readonly #counts = new Map<Kind, { moved: number; known: number; left: number }>();
  readonly #notes = new Map<string, { count: number; examples: string[] }>();

  readonly #seen = new Set<string>();
  #listedBefore: ReadonlySet<string> = new Set();

  /** The tally of a second look at the same: what this one has told is not told again. */
  after(): Tally {
    const later = new Tally();
    later.#listedBefore = this.#seen;
    return later;
  }

  /** Adds a second look. What is there already by then has moved by the first one. */
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

  /** Counts one by what a taker says of it. */
  took(kind: Kind, isNew: boolean): void {
    if (isNew) this.moved(kind);
    else this.known(kind);
  }

  /** One was not moved. `why` is the same text for all of its sort. */
  left(kind: Kind, why: string, example: string): void {
    if (this.#listedBefore.has(`${why}: ${example}`)) return;
    this.#of(kind).left += 1;
    this.note(why, example);
  }

  /** Keeps a remark. */
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
   * One line for each sort of remark.
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
