/** Counts by number of the place, as an object or a list. */
type Counts = Readonly<Record<number, number>>;

/** What istanbul's counters hold of one file. */
interface FileCounters {
  readonly s: Counts;
  readonly f: Counts;
  readonly b: Readonly<Record<string, Counts>>;
}

/** Where one counter stands. */
interface Place {
  readonly counts: Counts;
  readonly key: number;
}

/** The places of our sources that no input has reached so far. */
export class Coverage {
  #unseen: readonly Place[];
  #reached = 0;

  /** @throws Error where nothing is instrumented */
  constructor() {
    const files = (globalThis as { __coverage__?: Record<string, FileCounters> }).__coverage__;
    if (files === undefined) throw new Error('no source is instrumented');
    this.#unseen = Object.values(files).flatMap(placesOf);
    this.anythingNew();
    this.#reached = 0;
  }

  /** Places reached since it was made. */
  get reached(): number {
    return this.#reached;
  }

  /** Whether a place was reached for the first time since the last question. */
  anythingNew(): boolean {
    // Most inputs reach nothing new: no list is made for those.
    if (this.#unseen.every(isUnseen)) return false;
    const left = this.#unseen.filter(isUnseen);
    this.#reached += this.#unseen.length - left.length;
    this.#unseen = left;
    return true;
  }
}

function isUnseen({ counts, key }: Place): boolean {
  return counts[key] === 0;
}

function placesOf({ s, f, b }: FileCounters): Place[] {
  return [s, f, ...Object.values(b)].flatMap((counts) =>
    Object.keys(counts).map((key) => ({ counts, key: Number(key) })),
  );
}
