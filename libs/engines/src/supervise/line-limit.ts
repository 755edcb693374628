import { LIMITS } from '../protocol.ts';

const MINUTE_MS = 60_000;

/** Lets so many lines of an engine into the log, and counts the others. */
export class LineLimit {
  readonly #log: (level: 'info' | 'warn' | 'error', text: string) => void;
  readonly #now: () => number;
  #minute = 0;
  #taken = 0;
  #left = 0;

  constructor(
    log: (level: 'info' | 'warn' | 'error', text: string) => void,
    now: () => number = Date.now,
  ) {
    this.#log = log;
    this.#now = now;
  }

  take(level: 'info' | 'warn' | 'error', text: string): void {
    const minute = Math.floor(this.#now() / MINUTE_MS);
    if (minute !== this.#minute) {
      if (this.#left > 0) this.#log('warn', `${this.#left} lines were left out`);
      this.#minute = minute;
      this.#taken = 0;
      this.#left = 0;
    }
    this.#taken += 1;
    if (this.#taken > LIMITS.linesPerMinute) this.#left += 1;
    else this.#log(level, text.slice(0, LIMITS.lineChars));
  }
}
