import type { SaltMap } from '@brine/wire';

/** States of one run that may run at the same time, under any options. */
const PARALLEL_MAX = 100;

interface Parallel {
  readonly work: () => Promise<SaltMap>;
  /** Undefined while it waits for its turn. */
  going?: Promise<void>;
  ret?: SaltMap;
  failure?: Error;
}

/** The parallel states of a run (`parallel: True`). */
export class Parallels {
  readonly #most: number;
  readonly #all = new Map<string, Parallel>();

  /** @param most `state_max_parallel`; 0 for no limit */
  constructor(most: number) {
    this.#most = most > 0 ? Math.min(most, PARALLEL_MAX) : PARALLEL_MAX;
  }

  /** Adds a state; false if it waits for its turn. */
  add(tag: string, work: () => Promise<SaltMap>): boolean {
    const parallel: Parallel = { work };
    this.#all.set(tag, parallel);
    return this.#start(parallel);
  }

  /** True if one of these still runs or waits. */
  isBusy(tags: readonly string[]): boolean {
    return tags.some((tag) => this.#all.has(tag));
  }

  /** Starts waiting states whose turn has come, and collects the results of finished ones. */
  startWaiting(running: ReadonlyMap<string, SaltMap>): void {
    for (const [tag, parallel] of this.#all) {
      const ret = running.get(tag);
      if (ret === undefined) continue;
      if (parallel.failure !== undefined) throw parallel.failure;
      if (parallel.ret !== undefined) {
        for (const [key, value] of parallel.ret) ret.set(key, value);
        this.#all.delete(tag);
      } else if (parallel.going === undefined && this.#start(parallel)) {
        ret.set('comment', 'Started in a separate process');
      }
    }
  }

  /** Waits until the parallel ones of these states are done. */
  async some(tags: readonly string[], running: ReadonlyMap<string, SaltMap>): Promise<void> {
    for (;;) {
      this.startWaiting(running);
      const open = tags.flatMap((tag) => this.#all.get(tag) ?? []);
      if (open.length === 0) return;
      // A waiting state starts when any other is done.
      await Promise.race(this.#active().flatMap(({ going }) => going ?? []));
    }
  }

  /** Waits until all are done. */
  all(running: ReadonlyMap<string, SaltMap>): Promise<void> {
    return this.some([...running.keys()], running);
  }

  #start(parallel: Parallel): boolean {
    if (this.#active().length >= this.#most) return false;
    parallel.going = parallel.work().then(
      (ret) => void (parallel.ret = ret),
      (error: unknown) => {
        parallel.failure = error instanceof Error ? error : new Error(String(error));
      },
    );
    return true;
  }

  #active(): readonly Parallel[] {
    return [...this.#all.values()].filter(
      ({ going, ret, failure }) =>
        going !== undefined && ret === undefined && failure === undefined,
    );
  }
}
