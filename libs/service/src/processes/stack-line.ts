import { Duplex } from 'node:stream';
import { eachLine } from './lines.ts';

/**
 * The line to the thread that watches the loop of a service (threads/loop-watch.mjs). It answers
 * while the main thread is blocked.
 */
export class StackLine {
  readonly #line: Duplex | undefined;
  #waiting: ((stack: readonly string[] | undefined) => void)[] = [];

  /** @param line the parent's end of it; any other value means no line. */
  constructor(line: unknown) {
    if (!(line instanceof Duplex)) return;
    this.#line = line;
    // A process that ends breaks the line; eachLine ignores that.
    line.on('close', () => this.#answer(undefined));
    eachLine(line, (text) => this.#answer(stackIn(text)));
  }

  /** The stack of the main thread, innermost first; never settles if no thread watches. */
  ask(): Promise<readonly string[] | undefined> {
    const line = this.#line;
    if (line === undefined || line.destroyed) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      // One question serves all that wait.
      if (this.#waiting.length === 1) line.write('stack\n');
    });
  }

  #answer(stack: readonly string[] | undefined): void {
    for (const resolve of this.#waiting.splice(0)) resolve(stack);
  }
}

function stackIn(text: string): readonly string[] | undefined {
  try {
    const stack: unknown = JSON.parse(text);
    return Array.isArray(stack) ? stack.map(String) : undefined;
  } catch {
    return undefined; // Not a line of the thread.
  }
}
