import { type LineLevel, LineLimit, type TakeLine } from '@brine/tasks';
import { LIMITS } from './settings.ts';

/** Passes the output of modules to the log, in lines of limited length and number. */
export class LineLog {
  readonly #lines: LineLimit;
  #rest = '';

  constructor(take: TakeLine, now: () => number = Date.now) {
    const limits = { perMinute: LIMITS.linesPerMinute, chars: LIMITS.lineChars };
    this.#lines = new LineLimit(take, limits, now);
  }

  /** Takes a part of the output. */
  write(part: string): void {
    const lines = (this.#rest + part).split('\n');
    this.#rest = (lines.pop() ?? '').slice(0, LIMITS.lineChars);
    for (const line of lines) this.#line(line);
  }

  /** Ends the output. */
  end(): void {
    this.#line(this.#rest);
    this.#rest = '';
    this.#lines.end();
  }

  #line(line: string): void {
    if (line.trim() !== '') this.#lines.line(levelOf(line), line);
  }
}

function levelOf(line: string): LineLevel {
  if (/^\[(ERROR|CRITICAL)/.test(line)) return 'error';
  return line.startsWith('[WARNING') ? 'warn' : 'info';
}
