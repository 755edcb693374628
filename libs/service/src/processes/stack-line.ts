import { Duplex } from 'node:stream';
import { eachLine } from './lines.ts';

/**
 * The line to the thread that watches the loop of a service (threads/loop-watch.mjs). It answers
 * while the main thread is blocked.
 */
export class StackLine {
  readonly #line: Duplex | undefined;
  #waiting: ((stack: readonly string[] | undefined) => void)[] = [];

  /** @param line what the parent of the process has of it; anything else is no line. */
  constructor(line: unknown) {
    if (!(line instanceof Duplex)) return;
    this.#line = line;
    // Not eachLine's business: a process that is gone breaks the line.
    line.on('close', () => this.#answer(undefined));
    eachLine(line, (text) => this.#answer(stackIn(text)));
  }

  /** Where the main thread is, innermost first; never settles where no thread watches. */
  ask(): Promise<readonly string[] | undefined> {
    const line = this.#line;
    if (line === undefined || line.destroyed) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      // One question is answered for all that wait.
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
    return undefined; // No line of the thread.
  }
}
