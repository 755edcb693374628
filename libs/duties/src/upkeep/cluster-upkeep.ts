import type { ClusterTask, StoredRun } from '@brine/cluster-work';
import { LastRuns } from '@brine/service';
import { sleepUnless, type Trouble } from '@brine/tasks';
import { intOf, mapOf, type SaltMap, type SaltValue } from '@brine/wire';

/** Periodic work of the cluster, once for all processes. */
export interface UpkeepTask {
  /** Its name in `brine status`. */
  readonly name: string;
  readonly everyMs: number;
  /** Does the work; may be cut off at any point and repeated. */
  readonly work: (released: AbortSignal) => Promise<void>;
}

export interface ClusterUpkeepParts {
  readonly tasks: readonly UpkeepTask[];
  readonly onTrouble: Trouble;
  /** Unix ms. */
  readonly now: () => number;
  /** Interval of the check for due tasks; default 15 s. */
  readonly lookMs?: number;
}

const UPKEEP = 'upkeep';
const LOOK_MS = 15_000;

/**
 * The periodic work of the cluster, in one process at a time. The time of each task is saved with
 * the run, so a process that takes over continues the intervals.
 */
export class ClusterUpkeep {
  readonly #parts: ClusterUpkeepParts;
  readonly #runs = new LastRuns();
  readonly #failing = new Set<string>();

  constructor(parts: ClusterUpkeepParts) {
    this.#parts = parts;
  }

  /** The cluster task of the upkeep. */
  get task(): ClusterTask {
    return { kind: UPKEEP, name: UPKEEP, work: (run) => this.#work(run) };
  }

  /** Time of each task's last run, in the process that does it. */
  status(): object {
    return this.#runs.status();
  }

  /** Never rejects: failures are retried at the next check. */
  async #work(run: Pick<StoredRun, 'data' | 'released' | 'check' | 'save'>): Promise<void> {
    const { tasks, now, lookMs = LOOK_MS } = this.#parts;
    const doneMs = new Map(tasks.map(({ name }) => [name, intOf(run.data, name) ?? 0]));
    for (const [name, ms] of doneMs) if (ms > 0) this.#runs.ran(name, ms);
    let isSaved = true;
    while (!run.released.aborted) {
      for (const task of tasks) {
        // After a clock was set back the task is due as well.
        const ageMs = now() - (doneMs.get(task.name) ?? 0);
        if (ageMs >= 0 && ageMs < task.everyMs) continue;
        if (!(await this.#do(task, run))) continue;
        doneMs.set(task.name, now());
        this.#runs.ran(task.name, now());
        isSaved = false;
      }
      isSaved ||= await this.#save(run, mapOf(Object.fromEntries<SaltValue>(doneMs)));
      await sleepUnless(lookMs, run.released, { ref: false });
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
      // The bucket is unreachable, or another process owns the run: then the signal is aborted.
      return false;
    }
  }
}
