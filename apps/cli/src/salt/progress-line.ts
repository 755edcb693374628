import type { MasterOptions } from '@brine/config';
import type { Terminal } from '../terminal.ts';

/** A job that ends sooner shows no line: it would only flicker. */
const FIRST_MS = 1_000;
const EACH_MS = 500;

/** `12 of 40 returned, 3 s` below the output, while a command waits on a terminal. */
export class ProgressLine {
  readonly #status: Terminal['status'];
  readonly #expected: ReadonlySet<string>;
  readonly #startMs = Date.now();
  readonly #returned = new Set<string>();
  #unexpected = 0;
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param status writes the line; undefined without a terminal
   * @param firstMs delay of the first line
   */
  constructor(status: Terminal['status'], expected: readonly string[], firstMs = FIRST_MS) {
    this.#status = status;
    this.#expected = new Set(expected);
    if (status === undefined) return;
    this.#timer = setTimeout(() => {
      this.#show();
      this.#timer = setInterval(() => this.#show(), EACH_MS);
    }, firstMs);
  }

  /** A line for this command, unless `brine.progress` is off. */
  static for(
    { config, terminal }: { readonly config: MasterOptions; readonly terminal: Terminal },
    expected: readonly string[],
    firstMs?: number,
  ): ProgressLine {
    return new ProgressLine(config.brine.progress ? terminal.status : undefined, expected, firstMs);
  }

  /** Counts a return. */
  took(id: string): void {
    if (this.#returned.has(id)) return;
    this.#returned.add(id);
    if (!this.#expected.has(id)) this.#unexpected += 1;
  }

  /** Removes the line. */
  end(): void {
    clearTimeout(this.#timer);
    if (this.#timer !== undefined) this.#status?.('');
    this.#timer = undefined;
  }

  #show(): void {
    // Minions below syndics are counted when they return.
    const all = this.#expected.size + this.#unexpected;
    const seconds = Math.floor((Date.now() - this.#startMs) / 1000);
    this.#status?.(`${this.#returned.size} of ${all} returned, ${seconds} s`);
  }
}
