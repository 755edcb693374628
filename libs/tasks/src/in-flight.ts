/** The tasks under way, for a source that stops reading while there are too many. */
export class InFlight {
  readonly #max: number;
  readonly #tasks = new Set<Promise<void>>();

  /** @param max tasks that may be under way before the source has to wait */
  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#tasks.size;
  }

  get isFull(): boolean {
    return this.#tasks.size >= this.#max;
  }

  /** Adds a task that has begun. It must not reject: its caller handles its errors. */
  add(task: Promise<void>): void {
    const tracked = task.finally(() => this.#tasks.delete(tracked));
    this.#tasks.add(tracked);
  }

  /** Resolves when one more may begin. */
  async room(): Promise<void> {
    while (this.isFull) await Promise.race(this.#tasks);
  }

  /** Resolves when the tasks that are under way now have ended. */
  async settled(): Promise<void> {
    await Promise.all(this.#tasks);
  }
}

/**
 * Works through a source, some at a time, so that neither many wait nor all are in memory. Rejects
 * with the first error, once the others under way have ended.
 */
export async function eachAtOnce<T>(
  source: AsyncIterable<T>,
  atOnce: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const running = new InFlight(atOnce);
  let failed: { readonly error: unknown } | undefined;
  for await (const item of source) {
    if (failed !== undefined) break;
    running.add(work(item).catch((error: unknown) => void (failed ??= { error })));
    await running.room();
  }
  await running.settled();
  if (failed !== undefined) throw failed.error;
}
