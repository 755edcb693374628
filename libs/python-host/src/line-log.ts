import { type LineLevel, LineLimit, type TakeLine } from '@brine/tasks';
import { LIMITS } from './settings.ts';

/** Hands what modules print to the log, in lines, not too long and not too many. */
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

  /** The output has ended. */
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
