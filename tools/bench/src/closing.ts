/** What is to be ended with a block, the last first; all of it, also where one fails. */
export class Closing {
  readonly #ends: (() => Promise<void>)[] = [];

  /** Ends this too. */
  defer(end: () => Promise<void>): void {
    this.#ends.push(end);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const errors: unknown[] = [];
    for (const end of this.#ends.splice(0).reverse()) {
      await end().catch((error: unknown) => errors.push(error));
    }
    if (errors.length > 0) throw new AggregateError(errors, 'not everything ended well');
  }
}
