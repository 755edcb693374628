/**
 * Releases opened resources, the last first; a release that fails stops no other. Add each right
 * after the opening. With `await using` they run at the end of the block.
 */
export class Releasers {
  readonly #releasers: (() => Promise<void> | void)[] = [];
  #run: Promise<void> | undefined;

  add(release: () => Promise<void> | void): void {
    this.#releasers.push(release);
  }

  /** Runs all, the last first. Throws AggregateError if some failed. Again: the same promise. */
  run(): Promise<void> {
    this.#run ??= this.#runAll();
    return this.#run;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.run();
  }

  async #runAll(): Promise<void> {
    const errors: unknown[] = [];
    for (const release of this.#releasers.reverse()) {
      try {
        await release();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw new AggregateError(errors, 'not everything could be closed');
  }
}
