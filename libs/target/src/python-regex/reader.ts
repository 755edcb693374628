import { RegexError } from './ast.ts';

/** Walks over an expression by code points, as Python does. */
export class Reader {
  readonly #chars: readonly string[];
  #at = 0;

  constructor(text: string) {
    this.#chars = Array.from(text);
  }

  /** The character here, or empty text at the end. */
  peek(offset = 0): string {
    return this.#chars[this.#at + offset] ?? '';
  }

  /** Takes one character. @throws RegexError at the end. */
  next(): string {
    const char = this.#chars[this.#at];
    if (char === undefined) throw new RegexError('unexpected end of pattern');
    this.#at += 1;
    return char;
  }

  /** Takes `text` if it is next. */
  take(text: string): boolean {
    const chars = Array.from(text);
    if (chars.some((char, i) => this.peek(i) !== char)) return false;
    this.#at += chars.length;
    return true;
  }

  /** Takes the characters up to `end` and `end` itself. @throws RegexError where it is missing. */
  until(end: string): string {
    let taken = '';
    for (;;) {
      const char = this.next();
      if (char === end) return taken;
      taken += char;
    }
  }

  /** Takes up to `max` characters that `allowed` matches. */
  while(allowed: RegExp, max = Number.POSITIVE_INFINITY): string {
    let taken = '';
    while (taken.length < max && allowed.test(this.peek()) && this.peek() !== '') {
      taken += this.next();
    }
    return taken;
  }

  /** A place to come back to. */
  get position(): number {
    return this.#at;
  }

  set position(at: number) {
    this.#at = at;
  }

  /** True at the end. */
  get done(): boolean {
    return this.#at >= this.#chars.length;
  }
}
