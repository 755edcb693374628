/** How much a line of a program matters. */
export type LineLevel = 'info' | 'warn' | 'error';

/** Takes a line for the log. */
export type TakeLine = (level: LineLevel, text: string) => void;

const MINUTE_MS = 60_000;

/** Limits what one program may write into the log, and counts the lines that it left out. */
export class LineLimit {
  readonly #take: TakeLine;
  readonly #limits: { readonly perMinute: number; readonly chars: number };
  readonly #now: () => number;
  #minute = 0;
  #taken = 0;
  #leftOut = 0;

  constructor(
    take: TakeLine,
    limits: { readonly perMinute: number; readonly chars: number },
    now: () => number = Date.now,
  ) {
    this.#take = take;
    this.#limits = limits;
    this.#now = now;
  }

  /** Passes a line on, cut to the limit, while there are not too many in this minute. */
  line(level: LineLevel, text: string): void {
    const minute = Math.floor(this.#now() / MINUTE_MS);
    if (minute !== this.#minute) {
      this.end();
      this.#minute = minute;
      this.#taken = 0;
    }
    this.#taken += 1;
    if (this.#taken > this.#limits.perMinute) this.#leftOut += 1;
    else this.#take(level, text.slice(0, this.#limits.chars));
  }

  /** Logs how many lines were left out. */
  end(): void {
    if (this.#leftOut > 0) this.#take('warn', `${this.#leftOut} lines were left out`);
    this.#leftOut = 0;
  }
}
