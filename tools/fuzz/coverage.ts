/** What istanbul's counters hold of one file. */
interface FileCounters {
  readonly s: Record<string, number>;
  readonly f: Record<string, number>;
  readonly b: Record<string, number[]>;
}

/** Where one counter stands. */
interface Place {
  readonly counts: Record<string, number> | number[];
  readonly key: string;
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
    const left = this.#unseen.filter(({ counts, key }) => counts[key as never] === 0);
    const found = this.#unseen.length - left.length;
    if (found === 0) return false;
    this.#unseen = left;
    this.#reached += found;
    return true;
  }
}

function placesOf({ s, f, b }: FileCounters): Place[] {
  return [s, f, ...Object.values(b)].flatMap((counts) =>
    Object.keys(counts).map((key) => ({ counts, key })),
  );
}
