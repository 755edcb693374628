/** The processes that a test file waits for before it can begin. */
type Awaited = 'masters' | 'minions';

/** Counts the processes that a test file starts, and its wait for them: most of its time. */
export class StartTally {
  #started: Record<Awaited, number> = { masters: 0, minions: 0 };
  #waitedMs: Record<Awaited, number> = { masters: 0, minions: 0 };

  /** Counts a process that is started now. */
  started(what: Awaited): void {
    this.#started[what] += 1;
  }

  /** A wait from now until the end of the block: `using _ = …`. */
  waiting(what: Awaited): Disposable {
    const startedAt = performance.now();
    return {
      [Symbol.dispose]: () => void (this.#waitedMs[what] += performance.now() - startedAt),
    };
  }

  /** The sum since the last call; undefined if nothing was started. */
  take(): string | undefined {
    const [started, waitedMs] = [this.#started, this.#waitedMs];
    this.#started = { masters: 0, minions: 0 };
    this.#waitedMs = { masters: 0, minions: 0 };
    if (started.masters + started.minions === 0) return undefined;
    const seconds = (what: Awaited): string => (waitedMs[what] / 1000).toFixed(1);
    const of = (what: Awaited): string => `${what} ${started[what]} (${seconds(what)} s)`;
    return `${of('masters')}, ${of('minions')}`;
  }
}

/** The tally of the file that runs in this process. */
export const startTally = new StartTally();
