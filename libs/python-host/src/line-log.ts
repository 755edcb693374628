import { LIMITS } from './settings.ts';

/** How much a line of a module matters. */
export type LineLevel = 'info' | 'warn' | 'error';

/** Takes a line for the master's log. */
export type TakeLine = (level: LineLevel, text: string) => void;

const MINUTE_MS = 60_000;

/** Hands what modules print to the log, in lines, not too long and not too many. */
export class LineLog {
  readonly #take: TakeLine;
  readonly #now: () => number;
  #rest = '';
  #minute = 0;
  #taken = 0;
  #left = 0;

  constructor(take: TakeLine, now: () => number = Date.now) {
    this.#take = take;
    this.#now = now;
  }

  /** Takes a part of the output. */
  write(part: string): void {
    const lines = (this.#rest + part).split('\n');
    this.#rest = (lines.pop() ?? '').slice(0, LIMITS.lineChars);
    for (const line of lines) this.#line(line);
  }

  /** The output has ended. */
  end(): void {
    if (this.#rest !== '') this.#line(this.#rest);
    this.#rest = '';
    this.#tellLeft();
  }

  #line(line: string): void {
    if (line.trim() === '') return;
    const minute = Math.floor(this.#now() / MINUTE_MS);
    if (minute !== this.#minute) {
      this.#tellLeft();
      this.#minute = minute;
      this.#taken = 0;
    }
    this.#taken += 1;
    if (this.#taken > LIMITS.linesPerMinute) this.#left += 1;
    else this.#take(levelOf(line), line.slice(0, LIMITS.lineChars));
  }

  #tellLeft(): void {
    if (this.#left > 0) this.#take('warn', `${this.#left} lines of modules were left out`);
    this.#left = 0;
  }
}

function levelOf(line: string): LineLevel {
  if (/^\[(ERROR|CRITICAL)/.test(line)) return 'error';
  return line.startsWith('[WARNING') ? 'warn' : 'info';
}
