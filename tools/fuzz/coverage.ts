/** Counts by index of the place, as an object or a list. */
type Counts = Readonly<Record<number, number>>;

/** istanbul's counters of one file. */
interface FileCounters {
  readonly s: Counts;
  readonly f: Counts;
  readonly b: Readonly<Record<string, Counts>>;
}

/** The place of one counter. */
interface Place {
  readonly counts: Counts;
  readonly key: number;
}

/** The places of our sources that no input has reached yet. */
export class Coverage {
  #unseen: readonly Place[];
  #reached = 0;

  /** @throws Error if nothing is instrumented */
  constructor() {
    const files = (globalThis as { __coverage__?: Record<string, FileCounters> }).__coverage__;
    if (files === undefined) throw new Error('no source is instrumented');
    this.#unseen = Object.values(files).flatMap(placesOf);
    this.anythingNew();
    this.#reached = 0;
  }

  /** Number of places reached since it was made. */
  get reached(): number {
    return this.#reached;
  }

  /** True if a place was reached for the first time since the last call. */
  anythingNew(): boolean {
    // Most inputs reach nothing new: make no list for those.
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
