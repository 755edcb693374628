import { setTimeout as sleep } from 'node:timers/promises';
import type { ClusterTask, StoredRun } from '@brine/cluster-work';
import { LastRuns } from '@brine/service';
import type { Trouble } from '@brine/tasks';
import { intOf, mapOf, type SaltMap, type SaltValue } from '@brine/wire';

/** Work that the cluster does again and again, once for all processes. */
export interface UpkeepTask {
  /** As `brine status` shows it. */
  readonly name: string;
  readonly everyMs: number;
  /** Does it; may be cut off anywhere and done again. */
  readonly work: (released: AbortSignal) => Promise<void>;
}

/** What the upkeep works with. */
export interface ClusterUpkeepParts {
  readonly tasks: readonly UpkeepTask[];
  readonly onTrouble: Trouble;
  /** Unix ms. */
  readonly now: () => number;
  /** Default 15 s: how often it is looked what is due. */
  readonly lookMs?: number;
}

const UPKEEP = 'upkeep';
const LOOK_MS = 15_000;

/**
 * The regular work of the cluster, in one process at a time. When each was done is saved with the
 * run: a process that takes over goes on by it.
 */
export class ClusterUpkeep {
  readonly #parts: ClusterUpkeepParts;
  readonly #runs = new LastRuns();
  readonly #failing = new Set<string>();

  constructor(parts: ClusterUpkeepParts) {
    this.#parts = parts;
  }

  /** For the list of what processes do in turn. */
  get task(): ClusterTask {
    return { kind: UPKEEP, name: UPKEEP, work: (run) => this.#work(run) };
  }

  /** When each was last done, in the process that does it. */
  status(): object {
    return this.#runs.status();
  }

  /** Never rejects: what fails is tried again at the next look. */
  async #work(run: Pick<StoredRun, 'data' | 'released' | 'check' | 'save'>): Promise<void> {
    const { tasks, now, lookMs = LOOK_MS } = this.#parts;
    const doneMs = new Map(tasks.map(({ name }) => [name, intOf(run.data, name) ?? 0]));
    for (const [name, ms] of doneMs) if (ms > 0) this.#runs.ran(name, ms);
    let isSaved = false;
    while (!run.released.aborted) {
      for (const task of tasks) {
        // A clock that was set back makes it due as well.
        const ageMs = now() - (doneMs.get(task.name) ?? 0);
        if (ageMs >= 0 && ageMs < task.everyMs) continue;
        if (!(await this.#do(task, run))) continue;
        doneMs.set(task.name, now());
        this.#runs.ran(task.name, now());
        isSaved = false;
      }
      // The first save says that the run was begun, and not only moved.
      isSaved ||= await this.#save(run, mapOf(Object.fromEntries<SaltValue>(doneMs)));
      await sleep(lookMs, undefined, { signal: run.released, ref: false }).catch(() => undefined);
    }
  }

  async #do(task: UpkeepTask, run: Pick<StoredRun, 'released' | 'check'>): Promise<boolean> {
    try {
      run.check();
      await task.work(run.released);
      this.#failing.delete(task.name);
      return true;
    } catch (err) {
      if (run.released.aborted) return false;
      if (!this.#failing.has(task.name)) this.#parts.onTrouble(`${task.name} were not tidied`, err);
      this.#failing.add(task.name);
      return false;
    }
  }

  async #save(run: Pick<StoredRun, 'save'>, data: SaltMap): Promise<boolean> {
    try {
      await run.save(data);
      return true;
    } catch {
      // The bucket is away, or the run is another process's: the signal says that.
      return false;
    }
  }
}
