import type { RunningJob } from '../functions/own-state.ts';

interface Entry {
  readonly job: RunningJob;
  signal?: (name: NodeJS.Signals) => boolean;
}

/** The jobs that run now, and the ids of the last ones, which are not run twice. */
export class JobTable {
  readonly #running = new Map<string, Entry>();
  readonly #seen = new Set<string>();
  readonly #remembered: number;

  /** @param remembered how many job ids are kept (Salt: minion_jid_queue_hwm). */
  constructor(remembered: number) {
    this.#remembered = remembered;
  }

  /** False for a job id that came before. */
  accept(jid: string): boolean {
    if (this.#seen.has(jid)) return false;
    this.#seen.add(jid);
    for (const oldest of this.#seen) {
      if (this.#seen.size <= this.#remembered) break;
      this.#seen.delete(oldest);
    }
    return true;
  }

  /** Notes which process works on a job. */
  begin(job: RunningJob, signal?: (name: NodeJS.Signals) => boolean): void {
    this.#running.set(job.jid, signal === undefined ? { job } : { job, signal });
  }

  end(jid: string): void {
    this.#running.delete(jid);
  }

  list(): readonly RunningJob[] {
    return [...this.#running.values()].map((entry) => entry.job);
  }

  signal(jid: string, name: NodeJS.Signals): boolean {
    return this.#running.get(jid)?.signal?.(name) ?? false;
  }
}
