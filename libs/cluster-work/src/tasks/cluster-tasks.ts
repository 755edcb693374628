import type { Trouble } from '@brine/tasks';
import { mapOf } from '@brine/wire';
import type { RunOffers } from '../ownership/run-offers.ts';
import type { StoredRun } from '../ownership/stored-run.ts';

/**
 * Permanent work of the cluster, in one process at a time: a run that never ends. Another process
 * takes it over like any run.
 */
export interface ClusterTask {
  /** The kind of its record; a process that does not know the kind leaves the run alone. */
  readonly kind: string;
  /** Replaces a job id. */
  readonly name: string;
  /** Does the work until the run is released. */
  readonly work: (run: StoredRun) => Promise<void>;
}

/** Interval at which the records are checked, ms. */
const LOOK_MS = 10_000;
/** Interval of the first checks: the bucket may not exist yet. */
const FIRST_LOOK_MS = 500;

/** Makes a record for each task, when a process starts and after a loss of the bucket. */
export class ClusterTasks {
  readonly #tasks: readonly ClusterTask[];
  readonly #offers: Pick<RunOffers, 'find' | 'offer'>;
  readonly #onTrouble: Trouble;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  #inTrouble = false;

  constructor(
    tasks: readonly ClusterTask[],
    offers: Pick<RunOffers, 'find' | 'offer'>,
    onTrouble: Trouble,
  ) {
    this.#tasks = tasks;
    this.#offers = offers;
    this.#onTrouble = onTrouble;
    if (tasks.length > 0) void this.#look();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  async #look(): Promise<void> {
    let delayMs = LOOK_MS;
    try {
      for (const { kind, name } of this.#tasks) {
        if ((await this.#offers.find(name)) !== undefined) continue;
        await this.#offers.offer(kind, name, { data: mapOf({}), call: mapOf({}) });
      }
      this.#inTrouble = false;
    } catch (err) {
      delayMs = FIRST_LOOK_MS;
      if (!this.#inTrouble) this.#onTrouble('the records of cluster tasks can not be checked', err);
      this.#inTrouble = true;
    }
    if (!this.#isClosed) this.#timer = setTimeout(() => void this.#look(), delayMs);
  }
}
