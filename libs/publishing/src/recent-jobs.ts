import type { Job } from '@brine/job';

/** One job that went out lately. */
export interface RecentJob {
  readonly jid: string;
  readonly seq: number;
  /** When the stream stored it, ms since 1970. */
  readonly timeMs: number;
  readonly notAfter: number;
  readonly hidden: boolean;
  /** How many jobs had gone out before it. */
  readonly index: number;
}

// What a window of 24 s looks at; at more jobs than this a minute nobody is sent anything again.
const MAX_JOBS = 5_000;

/**
 * The jobs that were read off the stream lately, sent or not. Not the whole records: these are in
 * the stream, and held for minutes their ids of minions would fill the old part of the heap.
 */
export class RecentJobs {
  #jobs: RecentJob[] = [];
  #count = 0;

  /** Jobs noted since the start. */
  get count(): number {
    return this.#count;
  }

  note(record: Job, seq: number, timeUs: number): void {
    const { jid, notAfter, hidden } = record;
    const timeMs = Math.floor(timeUs / 1000);
    this.#jobs.push({ jid, seq, timeMs, notAfter, hidden, index: this.#count });
    this.#count += 1;
    if (this.#jobs.length > MAX_JOBS) this.#jobs = this.#jobs.slice(-MAX_JOBS / 2);
  }

  /** Jobs stored at or after this time. */
  since(timeMs: number): readonly RecentJob[] {
    return this.#jobs.filter((job) => job.timeMs >= timeMs);
  }

  /** How many jobs came after the one at this sequence; Infinity where that is not known here. */
  later(seq: number): number {
    const job = this.#jobs.findLast((one) => one.seq === seq);
    return job === undefined ? Infinity : this.#count - job.index - 1;
  }
}
