import { appendFileSync, writeFileSync } from 'node:fs';

/** Logs the steps of a run to the terminal and a file, with the time of each. */
export class StepLog {
  readonly #file: string;
  readonly #begin = performance.now();
  #passed = 0;
  #failed = 0;

  /** @param file is truncated */
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
   * Runs a step and logs its duration.
   * @throws the error of the step, after logging it
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

  /** Writes the last line. Returns the exit code. */
  end(): number {
    this.#write(`\n${this.#passed} passed, ${this.#failed} failed`);
    return this.#failed === 0 && this.#passed > 0 ? 0 : 1;
  }

  #write(line: string): void {
    console.log(line);
    appendFileSync(this.#file, `${line}\n`);
  }
}
