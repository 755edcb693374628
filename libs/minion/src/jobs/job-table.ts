import type { RunningJob } from '../functions/own-state.ts';

interface Entry {
  readonly job: RunningJob;
  signal?: (name: NodeJS.Signals) => boolean;
}

/** The running jobs, and the ids of the last ones, which must not run twice. */
export class JobTable {
  readonly #running = new Map<string, Entry>();
  readonly #seen = new Set<string>();
  readonly #remembered: number;

  /** @param remembered number of job ids that are kept (Salt: minion_jid_queue_hwm) */
  constructor(remembered: number) {
    this.#remembered = remembered;
  }

  /** False for a repeated job id. */
  accept(jid: string): boolean {
    if (this.#seen.has(jid)) return false;
    this.#seen.add(jid);
    for (const oldest of this.#seen) {
      if (this.#seen.size <= this.#remembered) break;
      this.#seen.delete(oldest);
    }
    return true;
  }

  /** Notes the process of a job. */
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
