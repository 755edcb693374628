import { appendFileSync, writeFileSync } from 'node:fs';

/** Writes down what a run does: on the terminal and in a file, with the time of each step. */
export class StepLog {
  readonly #file: string;
  readonly #begin = performance.now();
  #passed = 0;
  #failed = 0;

  /** @param file is begun anew. */
  constructor(file: string) {
    this.#file = file;
    writeFileSync(file, '');
  }

  /** A line within a step. */
  readonly say = (line: string): void => {
    const at = ((performance.now() - this.#begin) / 1000).toFixed(1).padStart(7);
    this.#write(`${at} s    ${line}`);
  };

  /**
   * Does a step and says how long it took.
   * @throws what the step throws, once that is written down
   */
  readonly step = async <T>(what: string, work: () => Promise<T>): Promise<T> => {
    const begin = performance.now();
    this.say(`-- ${what}`);
    const took = (): string => ((performance.now() - begin) / 1000).toFixed(1);
    try {
      const value = await work();
      this.#passed += 1;
      this.say(`ok ${what} (${took()} s)`);
      return value;
    } catch (error) {
      this.#failed += 1;
      this.say(`FAILED ${what} (${took()} s): ${(error as Error).message}`);
      throw error;
    }
  };

  /** The last line. Gives the exit code. */
  end(): number {
    this.#write(`\n${this.#passed} passed, ${this.#failed} failed`);
    return this.#failed === 0 && this.#passed > 0 ? 0 : 1;
  }

  #write(line: string): void {
    console.log(line);
    appendFileSync(this.#file, `${line}\n`);
  }
}
